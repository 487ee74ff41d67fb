// Time as it is drawn: every tick is as wide as the next, but quiet stretches are narrow where they would leave the rest no room.

// Where ticks are drawn. Outside of quiet stretches a tick is one wide; all quiet ones together have at most `share` of everything.
function makeTime(ticks, quiet, share) {
  const sum = quiet.reduce((all, [from, to]) => all + to - from, 0);
  const narrow = sum > 0 ? Math.min(1, share / (1 - share) * (ticks - sum) / sum) : 1;
  const at = new Float64Array(ticks + 1);
  let next = 0;
  for (let tick = 0; tick < ticks; tick++) {
    while (next < quiet.length && quiet[next][1] <= tick) next++;
    const isQuiet = next < quiet.length && quiet[next][0] <= tick;
    at[tick + 1] = at[tick] + (isQuiet ? narrow : 1);
  }
  const time = { at, quiet, narrow, length: at[ticks] };
  // Behind the last tick, where another exhibit is longer, time goes on at its usual pace.
  time.place = (tick) => {
    if (tick >= ticks) return at[ticks] + tick - ticks;
    const whole = Math.max(0, Math.floor(tick));
    return at[whole] + (tick - whole) * (at[whole + 1] - at[whole]);
  };
  time.tickAt = (place) => {
    if (place >= at[ticks]) return ticks + place - at[ticks];
    const tick = Math.max(0, lastUpTo(at, place));
    return tick + Math.max(0, place - at[tick]) / (at[tick + 1] - at[tick]);
  };
  return time;
}

// The last place of an ascending list whose number is at most `number`; -1 if there is none.
function lastUpTo(list, number) {
  let [low, high] = [0, list.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle] <= number) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

// The stretches between two ticks in which all ticks are equally wide, in order.
function evenStretches(time, from, to) {
  const cuts = [from, ...time.quiet.flat().filter((tick) => tick > from && tick < to), to];
  return cuts.slice(1).map((until, i) => [cuts[i], until]);
}
