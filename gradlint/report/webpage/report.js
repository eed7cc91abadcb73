"use strict";
(() => {
  const form = document.getElementById("filters");
  if (!form) return;
  const main = document.getElementById("findings");
  const articles = [...main.querySelectorAll("article")];
  const fields = ["severity", "code", "file", "verdict"];
  const words = new Map(articles.map((one) => [
    one, `${one.dataset.file} ${one.querySelector("summary").textContent}`.toLowerCase()]));
  let current = -1;
  form.hidden = false;

  const shown = () => [...main.querySelectorAll("article")].filter((one) => !one.hidden);

  function filter() {
    const text = form.elements.text.value.trim().toLowerCase();
    for (const one of articles) {
      const fits = fields.every((field) => {
        const select = form.elements[field];
        return !select || !select.value || one.dataset[field] === select.value;
      });
      one.hidden = !fits || !words.get(one).includes(text);
    }
    for (const section of main.querySelectorAll("section"))
      section.hidden = !section.querySelector("article:not([hidden])");
    document.getElementById("shown").textContent = `${shown().length} of ${articles.length} shown`;
    mark(-1);
  }

  function group() {
    const byRule = form.elements.group.value === "rule";
    const groups = new Map();
    for (const one of articles) {
      const name = byRule ? `${one.dataset.code} ${one.querySelector(".name").textContent}` : one.dataset.file;
      if (!groups.has(name)) groups.set(name, []);
      groups.get(name).push(one);
      const place = one.querySelector(".place");
      place.dataset.line ??= place.textContent;
      place.textContent = byRule ? `${one.dataset.file}, ${place.dataset.line}` : place.dataset.line;
    }
    main.replaceChildren(...[...groups].sort(([a], [b]) => (byRule ? a.localeCompare(b) : 0)).map(([name, members]) => {
      const section = document.createElement("section");
      const head = document.createElement("h2");
      head.textContent = name;
      section.append(head, ...members);
      return section;
    }));
    filter();
  }

  function mark(index) {
    articles.forEach((one) => one.classList.remove("current"));
    current = index;
    const one = shown()[index];
    if (!one) return;
    one.classList.add("current");
    one.querySelector("summary").focus({ preventScroll: true });
    one.scrollIntoView({ block: "center" });
  }

  form.addEventListener("input", (event) => (event.target.name === "group" ? group() : filter()));
  form.addEventListener("submit", (event) => event.preventDefault());
  form.elements.expand.addEventListener("click", () => {
    const open = shown().some((one) => !one.querySelector("details").open);
    shown().forEach((one) => { one.querySelector("details").open = open; });
    form.elements.expand.textContent = open ? "Close all" : "Open all";
  });
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape") {
      form.reset();
      group();
      document.activeElement.blur();
    } else if (event.target.closest("input, select")) {
      return;
    } else if (event.key === "/") {
      event.preventDefault();
      form.elements.text.focus();
    } else if (event.key === "j" || event.key === "k") {
      mark(Math.min(Math.max(current + (event.key === "j" ? 1 : -1), 0), shown().length - 1));
    } else if (event.key === "o" && current >= 0) {
      const details = shown()[current].querySelector("details");
      details.open = !details.open;
    }
  });
  const opened = [];
  addEventListener("beforeprint", () => articles.forEach((one) => {
    const details = one.querySelector("details");
    if (!details.open && !one.hidden) { details.open = true; opened.push(details); }
  }));
  addEventListener("afterprint", () => opened.splice(0).forEach((details) => { details.open = false; }));
  if (articles.length <= 5) articles.forEach((one) => { one.querySelector("details").open = true; });
  const target = document.getElementById(location.hash.slice(1));
  if (target && target.matches("article")) target.querySelector("details").open = true;
  filter();
})();
