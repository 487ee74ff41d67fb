// Numbers as `embed.rs` writes them: base64 of variable-length integers.

function decodeBase64(text) {
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = letters.charCodeAt(i);
  return bytes;
}

// A column as floats, which hold every integer that a page has.
function decodeColumn(column) {
  const bytes = decodeBase64(column.data);
  const values = new Float64Array(column.count);
  let at = 0;
  let before = 0;
  for (let i = 0; i < values.length; i++) {
    let value = 0;
    let scale = 1;
    let byte = 0x80;
    while (byte & 0x80) {
      byte = bytes[at++];
      value += (byte & 0x7f) * scale;
      scale *= 128;
    }
    if (column.delta) {
      // Zigzag: even numbers go up, odd ones down.
      before += value % 2 === 0 ? value / 2 : -(value + 1) / 2;
      value = before;
    }
    values[i] = value * column.unit;
  }
  return values;
}

// A function that is called once, when its result is first needed.
function lazily(make) {
  let made;
  let value;
  return () => {
    if (!made) {
      value = make();
      made = true;
    }
    return value;
  };
}
