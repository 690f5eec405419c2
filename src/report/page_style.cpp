#include "report/page_parts.h"

namespace regard::report {

const std::string_view kStyle =
    R"css(:root { color-scheme: light dark; --ink: #1b1f24; --quiet: #59636e; --paper: #fff; --edge: #d1d9e0;
  --grid: #eaeef2; --accent: #1f5fbf; --c0: #1f5fbf; --c1: #b3590a; --c2: #007a5e; --c3: #a13a7a; --c4: #6f5b00; --c5: #0b7285; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --quiet: #9198a1; --paper: #0d1117; --edge: #3d444d;
  --grid: #20262e; --accent: #6cb0ff; --c0: #6cb0ff; --c1: #f0a05a; --c2: #4cc9a0; --c3: #e58cc4; --c4: #d6c14a; --c5: #66c7d6; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1240px; padding: 20px 16px 48px; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, "Noto Sans", "Noto Sans Devanagari", "Noto Color Emoji", sans-serif; }
h1 { font-size: 22px; margin: 0 0 4px; }
h2 { font-size: 17px; margin: 32px 0 8px; }
h3 { font-size: 14px; margin: 0 0 2px; }
p { margin: 0 0 10px; }
.quiet { color: var(--quiet); font-size: 13px; }
form { display: flex; flex-wrap: wrap; gap: 8px 18px; align-items: end; margin: 14px 0; }
form label { font-size: 13px; color: var(--quiet); }
.field { display: flex; flex-direction: column; }
select, input[type=range] { font: inherit; color: var(--ink); background: var(--paper); }
select { border: 1px solid var(--edge); border-radius: 6px; padding: 5px 8px; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
#runs label { display: inline-flex; align-items: center; gap: 6px; margin-right: 14px; color: var(--ink); font-size: 14px; }
.swatch { display: inline-block; width: 18px; height: 0; border-top: 3px solid; vertical-align: middle; }
#charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(380px, 100%), 1fr)); gap: 22px; }
figure { margin: 0; min-width: 0; }
figcaption { font-weight: 600; font-size: 14px; }
svg { display: block; width: 100%; height: 230px; touch-action: pan-y; }
svg text { fill: var(--quiet); font-size: 11px; font-variant-numeric: tabular-nums; }
svg .grid { stroke: var(--grid); }
svg .axis { stroke: var(--edge); }
svg .line { fill: none; stroke-width: 1.8; stroke-linejoin: round; }
svg .raw { fill: none; stroke-width: 1; opacity: .28; }
svg .cursor { stroke: var(--quiet); stroke-dasharray: 3 3; }
.readout { min-height: 3em; font-size: 12.5px; font-variant-numeric: tabular-nums; color: var(--quiet); }
.readout b { color: var(--ink); font-weight: 600; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: 13.5px; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: 4px 12px 4px 0; border-bottom: 1px solid var(--grid); vertical-align: top; }
td { unicode-bidi: plaintext; overflow-wrap: anywhere; }
th { font-weight: 600; white-space: nowrap; }
td.differs { color: var(--accent); font-weight: 600; }
.confusion td { text-align: right; min-width: 44px; padding: 5px 8px; border: 1px solid var(--paper); }
.confusion th { padding: 4px 8px; }
details { margin: 8px 0; }
summary { cursor: pointer; color: var(--accent); font-size: 14px; }
.sample { padding: 8px 0; border-bottom: 1px solid var(--grid); unicode-bidi: plaintext; }
.sample div { white-space: pre-wrap; unicode-bidi: plaintext; overflow-wrap: anywhere; }
.sample .name { color: var(--quiet); font-size: 12px; }
@media print { form, .readout { display: none; } }
)css";

const std::string_view kBody = R"html(<body>
<h1>Training report</h1>
<p class="quiet" id="summary"></p>
<div id="runs" role="group" aria-label="Runs shown"></div>
<form onsubmit="return false" aria-label="Curves">
<label class="field">Horizontal axis<select id="axis"><option value="steps">Steps</option>
<option value="epochs">Epochs</option><option value="hours">Hours</option></select></label>
<label class="field">Smoothing of training curves <span id="smoothing-value">0.00</span>
<input type="range" id="smoothing" min="0" max="0.99" step="0.01" value="0"></label>
<label><input type="checkbox" id="log"> Logarithmic loss</label>
</form>
<section id="charts" aria-label="Curves"></section>
<section id="average"></section>
<section id="samples"></section>
<section id="confusion"></section>
<section id="settings"></section>
)html";

}  // namespace regard::report
