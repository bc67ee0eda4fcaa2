// The course's widgets without a kernel: controls above a picture, played from a film (what that holds: films.py).
// A film is a script, loaded when its widget comes near, so that a page works from a folder, too.
(() => {
  const waiting = {};
  window.attentionFilm = (name, packed) => waiting[name]?.(packed);

  async function unpack(packed) {
    const bytes = Uint8Array.from(atob(packed), (sign) => sign.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    const film = JSON.parse(await new Response(stream).text());
    for (const { frames } of film.pictures)
      for (let number = 1; number < frames.length; number++)  // each is stored as what changes to the one before
        frames[number] = frames[number].map((shape, place) => shape + (frames[number - 1][place] ?? 0));
    return film;
  }

  function play(box, film) {
    const { controls, pictures, words, shapes, plays, pace } = film, values = controls.map((control) => control.first);
    const inputs = controls.map((_, place) => box.querySelector(`[data-control="${place}"]`));
    const find = (selector) => box.querySelector(selector);
    const screen = find(".living-screen"), folded = find(".living-words p"), button = document.createElement("button");
    const show = window.attentionPicture.picture(screen, touched), announce = window.attentionPicture.announcer(find("[role=status]"));
    let said, turn = 0;

    const frame = ({ of, at, frames }) =>
      frames[at[of.reduce((number, place) => number * controls[place].texts.length + values[place], 0)]];

    function draw() {
      show(pictures.flatMap(frame).map((shape) => shapes[shape]).join("") + "</svg>");
      said = words.map(frame).join("").trim();
      screen.firstChild.setAttribute("aria-label", said);
      folded.textContent = said;
      announce(said);
    }

    function mark(place) {
      const input = inputs[place], { kind, texts } = controls[place], value = values[place];
      if (kind === "box") input.checked = value === 1;
      else input.value = value;
      if (kind !== "slider") return;
      input.setAttribute("aria-valuetext", texts[value]);
      input.nextElementSibling.textContent = texts[value];
    }

    // Gives a control a value, by its place, and to those that follow it theirs.
    function assign(place, value) {
      if (value === values[place]) return false;
      values[place] = value;
      for (const [other, { to, options }] of Object.entries(controls[place].leads)) {
        const next = to[value];
        if (options) inputs[other].replaceChildren(...options[value].map(([number, text]) => new Option(text, number)));
        values[other] = typeof next === "number" ? next : next[values[other]] ?? values[other];
        mark(other);
      }
      mark(place);
      return true;
    }

    function change(place) {
      const input = inputs[place], value = controls[place].kind === "box" ? +input.checked : +input.value;
      if (assign(place, value)) draw();
    }

    // The recorded value nearest to what a shape of the picture asks for.
    function nearest(place, value) {
      const { kind, values: known } = controls[place], now = values[place];
      if (value?.step) return Math.min(Math.max(now + value.step, 0), known.length - 1);
      const possible = (number) => kind !== "menu" || inputs[place].querySelector(`[value="${number}"]`);
      const far = (one) => one === value ? -1 : typeof one === "number" && typeof value === "number" ? Math.abs(one - value) : Infinity;
      return known.reduce((best, one, number) => possible(number) && far(one) < far(known[best]) ? number : best, now);
    }

    function touched(wanted) {
      if (turn) stop();
      box.classList.remove("captions");
      let changed = false;
      for (const [name, value] of Object.entries(wanted)) {
        const place = controls.findIndex((control) => control.name === name);
        if (place >= 0 && assign(place, nearest(place, value))) changed = true;
      }
      if (changed) draw();
    }

    // ▶ moves one slider to its last value, in its pace, or each picture as long as it takes to read what is said of it,
    // and all of them in 90 seconds; at the end it begins anew.
    const [PLAY, PAUSE] = [["▶", "Play"], ["❚❚", "Pause"]];
    const name = ([sign, word]) => { button.innerHTML = `<i aria-hidden="true">${sign}</i> ${word}`; };
    const atEnd = () => values[plays] === controls[plays].texts.length - 1;

    function stop() {
      clearTimeout(turn);
      turn = 0;
      name(PLAY);
    }

    function step(value) {
      inputs[plays].value = value;
      change(plays);
      const pause = pace ?? Math.min(700 + 45 * said.length, 90000 / controls[plays].texts.length);
      turn = setTimeout(() => atEnd() ? stop() : step(values[plays] + 1), pause);
    }

    function addButton() {
      button.type = "button";
      button.className = "living-play";
      name(PLAY);
      button.addEventListener("click", () => {
        if (turn) return stop();
        box.classList.add("captions");
        name(PAUSE);
        step(atEnd() ? 0 : values[plays] + 1);
      });
      inputs[plays].closest(".living-control").append(button);
      new IntersectionObserver(([{ isIntersecting }]) => { if (!isIntersecting) stop(); }).observe(screen);
    }

    inputs.forEach((input, place) => {
      mark(place);
      input.addEventListener("input", () => {
        if (turn) stop();
        box.classList.remove("captions");
        change(place);
      });
    });
    draw();
    if (plays !== null) addButton();
    find(".living-controls").disabled = false;
    box.dataset.ready = "";
  }

  function load(box) {
    const script = document.createElement("script");
    waiting[box.dataset.film] = (packed) => unpack(packed).then((film) => play(box, film)).catch(fail);
    const fail = () => { box.querySelector(".living-note").textContent = "The recorded pictures could not be loaded."; };
    script.src = box.dataset.src;
    script.onerror = fail;
    document.head.append(script);
  }

  const near = new IntersectionObserver((seen) => {
    for (const { isIntersecting, target } of seen)
      if (isIntersecting) { near.unobserve(target); load(target); }
  }, { rootMargin: "400px" });
  const start = () => document.querySelectorAll(".living").forEach((box) => near.observe(box));
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
