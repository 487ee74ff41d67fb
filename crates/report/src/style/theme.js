// The switch between light and dark. Without a choice the system decides.
(function () {
  const order = ["system", "light", "dark"];
  const button = document.getElementById("theme");
  // Pages opened from disk may have no storage; then the choice lasts as long as the page.
  const stored = () => { try { return localStorage.getItem("theme"); } catch { return null; } };
  const store = (theme) => { try { localStorage.setItem("theme", theme); } catch { /* see above */ } };
  function choose(theme) {
    if (theme === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    button.textContent = "Theme: " + theme;
    button.setAttribute("aria-label", "Theme: " + theme + ". Switch to the next of system, light, dark");
    document.dispatchEvent(new Event("themechange"));
  }
  let now = order.includes(stored()) ? stored() : "system";
  choose(now);
  button.addEventListener("click", () => {
    now = order[(order.indexOf(now) + 1) % order.length];
    store(now);
    choose(now);
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => document.dispatchEvent(new Event("themechange")));
})();
