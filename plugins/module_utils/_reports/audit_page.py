# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The page of an audit: one file, nothing loaded from outside, for a phone and for paper."""

from __future__ import annotations

from typing import Final

STYLE: Final = """
:root { color-scheme: light dark; --text: #1b1f24; --back: #ffffff; --line: #c9d1d9; --soft: #f3f5f7;
  --error: #b3261e; --warning: #8a5a00; --note: #4a5560; --good: #1a6b34;
  --healthy: #2f7d4f; --active: #1f4e9c; --pending: #5b86cf; --releasing: #9db8e4;
  --non_reserved: #b06a12; --spare: #7b7f86; }
@media screen and (prefers-color-scheme: dark) { :root { --text: #e6e9ed; --back: #14181d; --line: #3a424c;
  --soft: #1d232a; --error: #ff8a80; --warning: #ffc766; --note: #aab4be; --good: #7ddb9a;
  --healthy: #3f9a66; --active: #5183d6; --pending: #7fa3e0; --releasing: #a9c2ec;
  --non_reserved: #c98530; --spare: #8c9199; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 70rem; background: var(--back); color: var(--text);
  font: 1rem/1.45 system-ui, sans-serif; }
h1 { font-size: 1.4rem; margin: 0 0 .25rem; } h2 { font-size: 1.15rem; margin: 1.6rem 0 .4rem; }
h3 { font-size: 1rem; margin: 1rem 0 .3rem; } p { margin: .3rem 0; }
.verdict { font-weight: 700; } .passed { color: var(--good); } .failed { color: var(--error); }
.finding { border-left: .3rem solid var(--note); padding: .3rem .6rem; margin: .5rem 0;
  background: var(--soft); overflow-wrap: anywhere; }
.finding.error { border-color: var(--error); } .finding.warning { border-color: var(--warning); }
.tag { font-weight: 700; text-transform: uppercase; font-size: .8rem; }
.error .tag { color: var(--error); } .warning .tag { color: var(--warning); }
.note .tag { color: var(--note); }
.wide { overflow-x: auto; } table { border-collapse: collapse; width: 100%; font-size: .92rem; }
th, td { text-align: left; padding: .25rem .5rem; border-bottom: 1px solid var(--line); vertical-align: top; }
td:first-child { white-space: nowrap; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
svg { width: 100%; height: 5.5rem; display: block; margin: .3rem 0; }
svg rect { stroke: var(--back); stroke-width: 2; }
.key { list-style: none; display: flex; flex-wrap: wrap; gap: .2rem 1rem; padding: 0; margin: .2rem 0;
  font-size: .9rem; }
.swatch { display: inline-block; width: .8em; height: .8em; margin-right: .3em; }
.healthy { fill: var(--healthy); background: var(--healthy); }
.active { fill: var(--active); background: var(--active); }
.pending { fill: var(--pending); background: var(--pending); }
.releasing { fill: var(--releasing); background: var(--releasing); }
.non_reserved { fill: var(--non_reserved); background: var(--non_reserved); }
.spare { fill: var(--spare); background: var(--spare); }
@media print { :root { color-scheme: light; } body { max-width: none; padding: 0; font-size: 9.5pt; }
  section, .finding, tr { break-inside: avoid; } .wide { overflow: visible; }
  svg rect, .swatch { print-color-adjust: exact; -webkit-print-color-adjust: exact; } }
"""

PAGE: Final = """\
{% macro bar(part, y) %}
<rect class="{{ part.kind }}" x="{{ part.x }}" y="{{ y }}" width="{{ part.width }}" height="40">
<title>{{ part.label }}: {{ part.devices }}</title></rect>
{% endmacro %}
{% macro entry(part) %}
<li><span class="swatch {{ part.kind }}"></span>{{ part.label }} {{ part.devices }}</li>
{% endmacro %}
{% macro number(value) %}<td class="number">{{ value }}</td>{% endmacro %}
{% macro cells(values) %}{% for value in values %}<td>{{ value }}</td>{% endfor %}{% endmacro %}
{% macro heads(names, numbers=()) %}
<thead><tr>{% for name in names %}<th>{{ name }}</th>{% endfor %}
{% for name in numbers %}<th class="number">{{ name }}</th>{% endfor %}</tr></thead>
{% endmacro %}
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>GPU capacity audit of {{ bundle.cluster }}</title>
<style>{{ style|safe }}</style>
</head>
<body>
<header>
<h1>GPU capacity audit of {{ bundle.cluster }}</h1>
<p class="verdict {{ 'passed' if bundle.passed else 'failed' }}" id="verdict">
{{ 'Passed' if bundle.passed else 'Failed, errors: %d' % errors }}</p>
<p>Observed {{ bundle.server_time }}. Fleet {{ bundle.revisions.fleet[:12] }}, catalogue
{{ bundle.revisions.catalogue }}, Kubernetes {{ bundle.revisions.kubernetes }},
kube-dc {{ bundle.revisions.kube_dc }}.</p>
</header>
<main>
<section aria-labelledby="findings"><h2 id="findings">Findings</h2>
{% for finding in bundle.findings %}
<div class="finding {{ finding.severity }}">
<p><span class="tag">{{ finding.severity }}</span> <code>{{ finding.id }}</code> {{ finding.object }}</p>
<p>{{ finding.message }}</p>
<p>Next: {{ finding.next_action }}</p>
</div>
{% else %}
<p>None.</p>
{% endfor %}
</section>
{% for pool in bundle.pools %}
<section aria-labelledby="pool-{{ loop.index }}" class="pool" data-profile="{{ pool.profile }}">
<h2 id="pool-{{ loop.index }}">Pool {{ pool.profile }}</h2>
<p>{% if not pool.in_service %}Not in service: nothing is sold from it.{% else %}Headroom
<strong class="headroom">{{ pool.equation.headroom }}</strong>
({{ 'a term is unknown' if pool.equation.headroom is string
  else 'the equation holds' if pool.equation.holds else 'the equation does not hold' }}).{% endif %}
{% if pool.frozen %} Sales are frozen.{% endif %}{% if pool.lock %} Locked by {{ pool.lock }}.{% endif %}</p>
{% set chart = charts[loop.index0] %}
<svg viewBox="0 0 1000 92" preserveAspectRatio="none" role="img"
  aria-label="Healthy devices above what stands against them">
{% if chart.healthy %}{{ bar(chart.healthy, 2) }}{% endif %}
{% for part in chart.demand %}{{ bar(part, 50) }}{% endfor %}
</svg>
<ul class="key">
{% if chart.healthy %}{{ entry(chart.healthy) }}{% endif %}
{% for part in chart.demand %}{{ entry(part) }}{% endfor %}
{% for text in chart.unknown %}<li>{{ text }}</li>{% endfor %}
</ul>
{% if pool.reservations %}
<h3>Reservations</h3>
<div class="wide"><table>
{{ heads(['Record', 'Organization', 'Project', 'State', 'Active since', 'Ends', 'Billing', 'Approved by'],
  ['Devices']) }}<tbody>
{% for item in pool.reservations %}
<tr>{{ cells([item.id, item.organization, item.project or 'any', item.state, item.activated_at or 'not yet',
  item.ends_at or 'open', item.billing_reference, item.approved_by.product ~ ', ' ~ item.approved_by.sre]) }}
{{ number(item.devices) }}</tr>
{% endfor %}</tbody></table></div>
{% endif %}
{% if pool.organizations %}
<h3>Organizations</h3>
<div class="wide"><table>
{{ heads(['Organization', 'Add-ons'], ['Hard', 'Used', 'Ordinary', 'Granted', 'Reserved', 'Claim']) }}<tbody>
{% for item in pool.organizations %}
<tr data-organization="{{ item.organization }}"><td>{{ item.organization }}</td>
<td>{% for name, count in item.add_ons.items() %}{{ count }} x {{ name }} {% endfor %}</td>
{% for value in [item.hard, item.used, item.ordinary, item.granted, item.reserved, item.claim] %}
{{ number(value) }}
{% endfor %}</tr>
{% endfor %}</tbody></table></div>
{% endif %}
<h3>Nodes</h3>
<div class="wide"><table>{{ heads(['Node', 'Why'], ['Declared', 'Counts']) }}<tbody>
{% for item in pool.nodes %}
<tr>{{ cells([item.node, item.message]) }}{{ number(item.declared) }}{{ number(item.counts) }}</tr>
{% endfor %}</tbody></table></div>
{% if pool.holders %}
<h3>Holders</h3>
<div class="wide"><table>{{ heads(['Owner', 'Namespace', 'Organization', 'Node'], ['Devices']) }}<tbody>
{% for item in pool.holders %}
<tr>{{ cells([item.owner, item.namespace, item.organization or 'nobody', item.node]) }}
{{ number(item.devices) }}</tr>
{% endfor %}</tbody></table></div>
{% endif %}
</section>
{% endfor %}
<section aria-labelledby="gates"><h2 id="gates">Creation gates and alerts</h2>
{% for name, gate in bundle.gates.items() %}<p>Gate {{ name }}:
{% for place, state in gate.copies.items() %}{{ place }} {{ state }}{{ ', ' if not loop.last }}{% endfor %}
{%- if gate.closed_for %}; closed for {{ gate.closed_for|join(', ') }}{% endif %}</p>
{% endfor %}
<p>Alerts {{ 'were read' if bundle.alerts.readable else 'could not be read' }}:
{{ bundle.alerts.active|length }} active, {{ bundle.alerts.rules }} rules loaded.</p>
</section>
</main>
</body>
</html>
"""
