// What JupyterLab and ipywidgets leave out for keyboards and screen readers; `this` is an element inside the widget.
let tries = 100;
const start = () => {
  const box = this.closest(".attention-course");
  if (!box) return tries-- && setTimeout(start, 100); // not in the page yet
  const status = document.createElement("div");
  status.setAttribute("role", "status");
  status.style.cssText = "position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%)";
  box.append(status);
  let waiting;
  const mend = () => {
    for (const handle of box.querySelectorAll("[role=slider]:not([aria-label])")) {
      const slider = handle.closest(".jupyter-widgets");
      handle.setAttribute("aria-label", slider.querySelector("label, .widget-label").textContent);
    }
    for (const button of box.querySelectorAll(".widget-play button:not([aria-label])")) {
      button.setAttribute("aria-label", button.querySelector(".fa-stop") ? "Stop" : "Play or pause");
    }
    const view = box.querySelector("svg[aria-label], [role=alert]");
    const said = view && (view.getAttribute("aria-label") ?? view.textContent);
    clearTimeout(waiting); // a slider that moves is not to be heard at every step
    if (!said || said === box.said) return;
    waiting = setTimeout(() => {
      if (box.said) status.textContent = said; // the first picture is not news
      box.said = said;
    }, 300);
  };
  new MutationObserver(mend).observe(box, { childList: true, subtree: true });
  mend();
};
start();
if (!window.attentionCourse) {
  // JupyterLab reads plain keys as commands, "d d" as "delete this cell", even where a menu or a slider has the focus.
  window.attentionCourse = (event) => {
    const command = event.ctrlKey || event.metaKey || event.altKey || (event.shiftKey && event.key === "Enter");
    const inside = event.target.closest?.(".attention-course");
    if (inside) event.target.toggleAttribute("data-lm-suppress-shortcuts", !command);
  };
  window.addEventListener("keydown", window.attentionCourse, true);
}
