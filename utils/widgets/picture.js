// The front end of every picture of the course. It shows SVG that is drawn elsewhere, by Python in a notebook or for a
// film on a page, and listens to fingers and keys. The attributes of a shape:
//   data-set    JSON: the values that controls get when it is chosen
//   data-drag   JSON: it is a handle. {"x": [control, origin, scale], "y": […]}: value = (position - origin) / scale;
//               {"polar": [control of the angle, control of the length], "at": [x, y], "scale": pixels for a length of 1};
//               {"swap": "patch_", "at": 3, "is": 9}: dropped on another one, the two swap their values
//   data-group  the shapes of a group are one stop of the tab key; arrow keys lead from one to the next
//   data-name, data-value, data-on  its name, its value, and whether it is chosen, for screen readers
//   data-paint  a finger that moves on gives the shapes that it crosses the same value
//   data-id     it glides from where it was to where it is
const TOUCHED = "[data-set],[data-drag]", STILL = 400;  // milliseconds without a change, after which things may move
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

function centre(shape) {
  const box = shape.getBoundingClientRect();
  return [box.x + box.width / 2, box.y + box.height / 2];
}

// The values that a handle gives to its controls at the point (left, top) of the picture.
function valuesAt({ x, y, polar, at, scale }, [left, top]) {
  const values = {};
  if (polar) {
    const [across, up] = [left - at[0], at[1] - top], [angle, length] = polar;
    if (angle) values[angle] = (Math.atan2(up, across) * 180 / Math.PI + 360) % 360;
    if (length) values[length] = Math.hypot(across, up) / scale;
  }
  if (x) values[x[0]] = (left - x[1]) / x[2];
  if (y) values[y[0]] = (top - y[1]) / y[2];
  return values;
}

// The same for an arrow key: a control moves by its own steps.
function stepsOf({ x, y, polar }, [right, down]) {
  if (polar) {
    const [angle, length] = polar, name = right ? angle ?? length : length ?? angle;
    return { [name]: { step: name === angle && right ? -right : right - down } };
  }
  const axis = right ? x ?? y : y ?? x, along = axis === x ? right : down;  // 0: the key points across its only way
  return { [axis[0]]: { step: along ? along * Math.sign(axis[2]) : right - down } };
}

// Turns an element into a picture that is touched; set(values) hears what fingers and keys ask for. Returns show(svg).
function picture(screen, set) {
  const calm = matchMedia("(prefers-reduced-motion: reduce)"), stops = {};  // {group: number of the shape with its stop}
  let held = null, changed = 0;
  const shapes = () => [...screen.querySelectorAll(TOUCHED)];
  const group = (name) => shapes().filter(({ dataset }) => dataset.group === name);
  const read = (shape, key) => shape?.dataset[key] && JSON.parse(shape.dataset[key]);
  const under = ({ clientX, clientY }) => screen.getRootNode().elementFromPoint(clientX, clientY)?.closest(TOUCHED);
  const atOnce = ({ dataset }) => "drag" in dataset || "paint" in dataset;  // answers to a press, not to a click

  function point([x, y]) {
    const svg = screen.querySelector("svg"), box = svg.getBoundingClientRect(), view = svg.viewBox.baseVal;
    return [(x - box.x) * view.width / box.width, (y - box.y) * view.height / box.height];
  }

  function exchange(one, other) {
    if (one && one.swap === other?.swap && one.at !== other.at)
      set({ [one.swap + one.at]: other.is, [one.swap + other.at]: one.is });
  }

  function neighbour(shape, [right, down]) {
    const [x, y] = centre(shape), far = (other) => {
      const [dx, dy] = [centre(other)[0] - x, centre(other)[1] - y], along = dx * right + dy * down;
      return along > 1 ? along + 2 * Math.abs(dx * down) + 2 * Math.abs(dy * right) : Infinity;
    };
    const [nearest] = group(shape.dataset.group).sort((one, other) => far(one) - far(other));
    return far(nearest) < Infinity ? nearest : null;
  }

  screen.addEventListener("pointerdown", (event) => {
    const shape = event.target.closest(TOUCHED);
    if (held || !shape || event.button || event.ctrlKey || !atOnce(shape)) return;  // with Ctrl, a menu opens on a Mac
    event.preventDefault();
    const from = [event.clientX, event.clientY], [x, y] = point(from), [left, top] = point(centre(shape));
    held = { shape, from, finger: event.pointerId, drag: read(shape, "drag"), grip: [left - x, top - y], moved: false };
    screen.setPointerCapture(event.pointerId);
    screen.classList.add("ac-held");
    shape.focus({ preventScroll: true });
    if (held.drag) return;
    held.painted = JSON.stringify(Object.values(read(shape, "set")));
    set(read(shape, "set"));
  });

  screen.addEventListener("touchstart", (event) => {  // a finger on a handle does not scroll
    const shape = event.target.closest(TOUCHED);
    if (shape && atOnce(shape)) event.preventDefault();
  }, { passive: false });

  screen.addEventListener("pointermove", (event) => {
    if (held?.finger !== event.pointerId || !screen.querySelector("svg")) return;
    const { shape, from, drag, grip, painted } = held, to = [event.clientX, event.clientY];
    held.moved ||= Math.hypot(to[0] - from[0], to[1] - from[1]) > 4;
    if (!held.moved) return;
    const [x, y] = point(to), [startX, startY] = point(from);
    if (drag?.swap) shape.style.transform = `translate(${x - startX}px, ${y - startY}px)`;
    else if (drag) set(valuesAt(drag, [x + grip[0], y + grip[1]]));
    else {
      const other = under(event), values = other && "paint" in other.dataset && read(other, "set");
      if (values && JSON.stringify(Object.values(values)) === painted) set(values);
    }
  });

  for (const end of ["pointerup", "pointercancel", "lostpointercapture"])
    screen.addEventListener(end, (event) => {
      if (held?.finger !== event.pointerId) return;
      const { shape, drag, moved } = held;
      held = null;
      screen.classList.remove("ac-held");
      shape.style.transform = "";
      if (end !== "pointerup" || !drag) return;
      if (!moved && shape.dataset.set) set(read(shape, "set"));
      if (moved && drag.swap) exchange(drag, read(under(event), "drag"));
    });

  screen.addEventListener("click", (event) => {  // not on a press: a scroll may begin on a shape
    const shape = event.target.closest(TOUCHED);
    if (shape?.dataset.set && !(atOnce(shape) && event.detail)) set(read(shape, "set"));
  });

  screen.addEventListener("keydown", (event) => {
    const shape = event.target.closest(TOUCHED), way = ARROWS[event.key], drag = read(shape, "drag");
    if (!shape || event.ctrlKey || event.metaKey || event.altKey) return;
    if (shape.dataset.set && !event.shiftKey && ["Enter", " "].includes(event.key)) set(read(shape, "set"));
    else if (way && drag && !drag.swap) set(stepsOf(drag, way));
    else if (way && drag && event.shiftKey) exchange(drag, read(neighbour(shape, way), "drag"));
    else if (way) neighbour(shape, way)?.focus();
    else return;
    event.preventDefault();
  });

  screen.addEventListener("focusin", ({ target }) => {
    const { dataset } = target.closest(TOUCHED) ?? {};
    if (dataset) stops[dataset.group] = group(dataset.group).indexOf(target);
    if (dataset) tabStops();
  });

  function tabStops() {
    const some = {};
    for (const shape of shapes()) (some[shape.dataset.group] ??= []).push(shape);
    for (const [name, members] of Object.entries(some)) {
      const stop = members[stops[name]] ?? members.find(({ dataset }) => dataset.on === "true") ?? members[0];
      for (const member of members) member.setAttribute("tabindex", member === stop ? 0 : -1);
    }
  }

  function nameShapes() {
    for (const shape of shapes()) {
      const { name, value, on, set: sets } = shape.dataset;
      shape.setAttribute("role", sets ? "button" : "slider");
      shape.setAttribute("aria-label", name);
      if (on) shape.setAttribute("aria-pressed", on);
      if (sets) continue;
      const now = parseFloat(value) || 0;
      shape.setAttribute("aria-valuenow", now);
      shape.setAttribute("aria-valuemin", Math.min(now, 0));
      shape.setAttribute("aria-valuemax", Math.max(now, 100));
      shape.setAttribute("aria-valuetext", value);
    }
    tabStops();
  }

  // What keeps its data-id glides, in size, too, where it is a rectangle; what was not there before fades in.
  function glide(svg, places, known) {
    const unit = svg.viewBox.baseVal.width / svg.getBoundingClientRect().width;
    for (const shape of svg.querySelectorAll("*")) {
      const old = places.get(shape.dataset.id), now = shape.getBoundingClientRect();
      if (!old && !shape.childElementCount && !shape.classList.length && !known.has(shape.outerHTML))
        shape.animate([{ opacity: 0 }, {}], STILL);
      const [dx, dy] = old ? [old.x - now.x, old.y - now.y] : [0, 0], box = shape.tagName === "rect" && now.width && now.height;
      const [wide, high] = old && box ? [old.width / now.width, old.height / now.height] : [1, 1];
      if (Math.hypot(dx, dy) < 2 && Math.hypot(wide - 1, high - 1) < 0.05 || shape.hasAttribute("transform")) continue;
      shape.style.cssText += "; transform-box: fill-box; transform-origin: 0 0";
      const begin = `translate(${dx * unit}px, ${dy * unit}px) scale(${wide}, ${high})`;
      shape.animate([{ transform: begin }, { transform: "none" }], { duration: 300, easing: "ease-out" });
    }
  }

  return (markup) => {
    const active = screen.getRootNode().activeElement, focused = screen.contains(active) && active.closest(TOUCHED);
    const place = focused && [focused.dataset.group, group(focused.dataset.group).indexOf(focused)];
    const still = performance.now() - changed > STILL && !held && !calm.matches, before = screen.querySelector("svg");
    const places = new Map(), known = new Set();
    if (still) {
      for (const shape of before?.querySelectorAll("*") ?? []) {
        if (shape.dataset.id) places.set(shape.dataset.id, shape.getBoundingClientRect());
        known.add(shape.outerHTML);
      }
    }
    changed = performance.now();
    screen.innerHTML = markup;
    const svg = screen.querySelector("svg");
    screen.classList.toggle("ac-failed", !svg);  // then all controls are there again
    if (!svg) return;
    if (before && still) glide(svg, places, known);
    screen.classList.add("ac-live");
    if (shapes().length) svg.setAttribute("role", "group");
    nameShapes();
    if (place) (group(place[0])[place[1]] ?? shapes()[0])?.focus({ preventScroll: true });
  };
}

// For screen readers: what a picture shows, once it stands still; the first one is not news.
function announcer(status) {
  let waiting, known;
  return (said) => {
    clearTimeout(waiting);
    if (said === known) return;
    if (known !== undefined) waiting = setTimeout(() => { status.textContent = said; }, 300);
    known = said;
  };
}

// What ipywidgets leaves out: names for the handles of sliders and for the buttons of a player.
function nameControls(box) {
  for (const handle of box.querySelectorAll("[role=slider]:not([aria-label])")) {
    const label = handle.closest(".jupyter-widgets")?.querySelector("label, .widget-label");
    if (label) handle.setAttribute("aria-label", label.textContent);
  }
  for (const button of box.querySelectorAll(".widget-play button:not([aria-label])"))
    button.setAttribute("aria-label", button.querySelector(".fa-stop") ? "Stop" : "Play or pause");
}

// JupyterLab reads plain keys as commands, "d d" as "delete this cell", even where a menu or a shape has the focus.
function keepKeys() {
  if (window.attentionCourse) return;
  window.attentionCourse = (event) => {
    const command = event.ctrlKey || event.metaKey || event.altKey || (event.shiftKey && event.key === "Enter");
    const inside = event.target.closest?.(".attention-course");
    if (inside) event.target.toggleAttribute("data-lm-suppress-shortcuts", !command);
  };
  window.addEventListener("keydown", window.attentionCourse, true);
}

// Jupyter's server holds small messages back until the browser has acknowledged the ones before, which it does after
// 40 ms (Nagle's algorithm), or with whatever it sends itself.
const HURRY = 8, LOST = 20000;  // milliseconds; until an answer is taken for lost

// As an anywidget: the kernel draws, and gets one request at a time, always the newest.
function render({ model, el }) {
  const screen = document.createElement("div"), status = document.createElement("div");
  status.setAttribute("role", "status");
  el.append(screen, status);
  keepKeys();
  let waiting = null, busy = false, timers = [];
  const ask = () => {
    if (!waiting || busy) return;
    model.send({ set: waiting });
    waiting = null;
    busy = true;
    timers = [setTimeout(() => model.send({ hurry: true }), HURRY), setTimeout(answered, LOST)];
  };
  function answered() {
    timers.forEach(clearTimeout);
    busy = false;
    ask();
  }
  const show = picture(screen, (values) => {
    for (const [name, value] of Object.entries(values))  // steps add up
      if (value?.step && waiting?.[name]?.step) value.step += waiting[name].step;
    waiting = { ...waiting, ...values };
    ask();
  });
  const announce = announcer(status);
  const draw = () => {
    show(model.get("svg"));
    const view = screen.querySelector("svg[aria-label], [role=alert]");
    announce(view?.getAttribute("aria-label") ?? view?.textContent);
  };
  model.on("change:svg", draw);
  model.on("msg:custom", answered);
  draw();
  model.send({ ready: true });
  let tries = 100, observer;
  const start = () => {
    const box = el.closest(".attention-course");
    if (!box) return tries-- && setTimeout(start, 100);  // not in the page yet
    observer = new MutationObserver(() => nameControls(box));
    observer.observe(box, { childList: true, subtree: true });
    nameControls(box);
  };
  start();
  return () => {
    model.off("change:svg", draw);
    model.off("msg:custom", answered);
    observer?.disconnect();
    timers.forEach(clearTimeout);
  };
}

export default { render, picture, announcer };
