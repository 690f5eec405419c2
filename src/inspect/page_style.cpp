#include "inspect/page_parts.h"

namespace regard::inspect {

const std::string_view kPageStyle =
    R"css(:root { color-scheme: light dark; --ink: #1b1f24; --quiet: #59636e; --paper: #fff; --edge: #d1d9e0;
  --accent: 31 95 191; --on-accent: #fff; --hover: #f0f3f6; }
@media (prefers-color-scheme: dark) { :root:not([data-theme=light]) { --ink: #e6edf3; --quiet: #9198a1;
  --paper: #0d1117; --edge: #3d444d; --accent: 108 176 255; --on-accent: #0d1117; --hover: #1c222a; } }
:root[data-theme=dark] { color-scheme: dark; --ink: #e6edf3; --quiet: #9198a1; --paper: #0d1117;
  --edge: #3d444d; --accent: 108 176 255; --on-accent: #0d1117; --hover: #1c222a; }
:root[data-theme=light] { color-scheme: light; }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1100px; padding: 16px; background: var(--paper); color: var(--ink);
  font: 15px/1.45 system-ui, "Noto Sans", "Noto Sans Devanagari", "Noto Sans Arabic", "Noto Color Emoji", sans-serif; }
h1 { font-size: 18px; margin: 0 0 4px; unicode-bidi: plaintext; }
p { margin: 0 0 10px; unicode-bidi: plaintext; }
.quiet { color: var(--quiet); font-size: 13px; }
form { display: flex; flex-wrap: wrap; gap: 8px 14px; align-items: end; margin: 10px 0; }
label { display: flex; flex-direction: column; font-size: 12px; color: var(--quiet); }
select, button { font: inherit; color: var(--ink); background: var(--paper); border: 1px solid var(--edge);
  border-radius: 6px; padding: 6px 10px; min-height: 36px; }
button[aria-pressed=true] { background: rgb(var(--accent)); color: var(--on-accent); border-color: transparent; }
:focus-visible { outline: 2px solid rgb(var(--accent)); outline-offset: 1px; }
#picture { overflow: auto; max-height: 78vh; border: 1px solid var(--edge); border-radius: 8px; padding: 8px; }
table { border-collapse: separate; border-spacing: 1px; }
th { font-weight: 500; white-space: nowrap; background: var(--paper); }
thead th { position: sticky; top: -8px; z-index: 1; vertical-align: bottom; padding: 4px 2px; }
thead th span { writing-mode: vertical-rl; text-orientation: sideways; transform: rotate(180deg); unicode-bidi: plaintext; }
tbody th { position: sticky; left: -8px; text-align: right; padding: 0 8px 0 4px; unicode-bidi: plaintext; cursor: pointer; }
tbody tr.picked th { color: rgb(var(--accent)); text-decoration: underline; }
td { width: 30px; min-width: 30px; height: 28px; text-align: center; font-size: 11px;
  background: rgb(var(--accent) / var(--w)); border-radius: 3px; cursor: pointer; }
td.strong { color: var(--on-accent); }
td:hover { outline: 1px solid var(--ink); }
svg text { fill: var(--ink); font-size: 15px; cursor: pointer; unicode-bidi: plaintext; }
svg path { fill: none; stroke: rgb(var(--accent)); stroke-linecap: round; }
#heads { display: flex; flex-wrap: wrap; gap: 6px; margin: 12px 0; }
#heads button { padding: 3px; min-height: 0; line-height: 1.1; font-size: 11px; color: var(--quiet); }
#heads button[aria-pressed=true] { background: var(--paper); color: var(--ink); outline: 2px solid rgb(var(--accent)); }
#heads canvas { display: block; width: 56px; height: 56px; image-rendering: pixelated; background: var(--hover); }
#readout { min-height: 3em; margin-top: 10px; unicode-bidi: plaintext; }
kbd { border: 1px solid var(--edge); border-radius: 4px; padding: 0 4px; font-size: 12px; }
)css";

const std::string_view kPageBody = R"html(<body>
<h1 id="text"></h1>
<p id="translation"></p>
<p id="unablated"></p>
<form onsubmit="return false" aria-label="What to show">
<label>Attention<select id="kind"></select></label>
<label>Layer<select id="layer"></select></label>
<label>Head<select id="head"></select></label>
<button type="button" id="map" aria-pressed="true">Heat map</button>
<button type="button" id="lines" aria-pressed="false">Lines</button>
<button type="button" id="theme">Theme: system</button>
</form>
<p class="quiet" id="caption"></p>
<div id="picture" tabindex="0" aria-label="Attention weights"></div>
<p id="readout" role="status" aria-live="polite"></p>
<div id="heads" aria-label="All heads of this kind, one row of the list a layer"></div>
<p class="quiet">Keys: <kbd>←</kbd> <kbd>→</kbd> head, <kbd>↑</kbd> <kbd>↓</kbd> layer, <kbd>k</kbd> kind,
<kbd>v</kbd> heat map or lines, <kbd>j</kbd> <kbd>i</kbd> next and previous row, <kbd>Esc</kbd> no row.
Numbers are percent of each row; the line above gives them in full.</p>
)html";

}  // namespace regard::inspect
