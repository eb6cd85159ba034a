"use strict";
(() => {
  const form = document.querySelector(".filter");
  if (!form) return;
  const by = (id) => document.getElementById(id);
  const findings = [...document.querySelectorAll(".finding")];
  const texts = findings.map((finding) => finding.textContent.toLowerCase());
  const apply = () => {
    const words = by("text").value.toLowerCase().split(/\s+/).filter(Boolean);
    const statuses = new Set([...form.querySelectorAll("[name=status]:checked")].map((box) => box.value));
    let shown = 0;
    findings.forEach((finding, at) => {
      const { kind, kernel, status } = finding.dataset;
      const fits = statuses.has(status) && (!by("kind").value || by("kind").value === kind) &&
        (!by("kernel").value || by("kernel").value === kernel) && words.every((word) => texts[at].includes(word) || kind.includes(word));
      finding.hidden = !fits;
      shown += fits;
    });
    // Innermost first: a kind is empty when its kernels are.
    for (const section of [...document.querySelectorAll("section.kernel"), ...document.querySelectorAll("section.kind")]) {
      section.hidden = !section.querySelector(".finding:not([hidden])");
    }
    by("shown").value = `${shown} of ${findings.length} shown`;
  };
  form.addEventListener("input", apply);
  form.addEventListener("submit", (event) => event.preventDefault());
  by("fold").addEventListener("click", () => {
    const open = !findings.some((finding) => finding.open);
    findings.forEach((finding) => { finding.open = open; });
    by("fold").textContent = open ? "Fold all" : "Unfold all";
  });
  document.addEventListener("keydown", (event) => {
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement?.tagName ?? "");
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape" && document.activeElement === by("text")) {
      by("text").value = "";
      apply();
    } else if (typing) {
      return;
    } else if (event.key === "/") {
      event.preventDefault();
      by("text").focus();
    } else if (event.key === "j" || event.key === "k") {
      const visible = findings.filter((finding) => !finding.hidden).map((finding) => finding.querySelector("summary"));
      const at = visible.indexOf(document.activeElement?.closest?.(".finding")?.querySelector("summary"));
      const step = event.key === "j" ? 1 : -1;
      visible[Math.min(Math.max(at + step, 0), visible.length - 1)]?.focus();
    }
  });
  apply();
})();
