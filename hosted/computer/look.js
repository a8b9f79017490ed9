(() => {
  const words = (text, most) => (text || "").replace(/\s+/g, " ").trim().slice(0, most);
  const kind = (e) => {
    const tag = e.tagName.toLowerCase();
    if (tag === "a") return "link";
    if (tag === "input") return e.type === "submit" || e.type === "button" ? "button" : "input " + e.type;
    return e.getAttribute("role") || tag;
  };
  const name = (e) => {
    const label = e.labels && e.labels.length ? e.labels[0].innerText : "";
    const button = e.tagName === "INPUT" && (e.type === "submit" || e.type === "button") ? e.value || e.type : "";
    return words(e.getAttribute("aria-label") || label || button || (e.tagName === "SELECT" ? "" : e.innerText) || e.placeholder || e.title || e.name, 60);
  };
  const value = (e) => {
    if (e.type === "checkbox" || e.type === "radio") return e.checked ? "checked" : "not checked";
    if (e.tagName === "SELECT") return words(e.selectedOptions.length ? e.selectedOptions[0].text : "", 60);
    if (e.type === "password") return e.value ? "(hidden)" : "";
    if ((e.tagName === "INPUT" && kind(e) !== "button") || e.tagName === "TEXTAREA") return words(e.value, 60);
    return "";
  };
  const say = (e) => ({ kind: kind(e), name: name(e), value: value(e) });
  const wanted = "a[href],button,input:not([type=hidden]),select,textarea,summary,[role=button],[role=link],[role=checkbox],[role=tab],[onclick],[contenteditable=true]";
  const elements = [];
  let elsewhere = 0;
  for (const e of document.querySelectorAll(wanted)) {
    const box = e.getBoundingClientRect();
    if (box.width < 1 || box.height < 1 || !e.checkVisibility({ visibilityProperty: true })) continue;
    const x = Math.round(box.left + box.width / 2), y = Math.round(box.top + box.height / 2);
    if (elements.length >= MOST || x < 0 || y < 0 || x >= innerWidth || y >= innerHeight) { elsewhere++; continue; }
    elements.push({ ...say(e), x, y, disabled: !!e.disabled });
  }
  const focus = document.activeElement;
  return {
    title: words(document.title, 200), url: location.href, ready: document.readyState, elements, elsewhere,
    focus: focus && focus !== document.body && focus !== document.documentElement ? say(focus) : null,
    text: words(document.body ? document.body.innerText : "", LONGEST + 1), scrollY: Math.round(scrollY),
  };
})()
