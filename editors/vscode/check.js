// Whether what package.json names is there, and grammars are JSON whose patterns compile; `npm run check`.
const fs = require('fs');
const path = require('path');

const manifest = JSON.parse(fs.readFileSync(path.join(__dirname, 'package.json'), 'utf8'));
const problems = [];
const named = [manifest.main, ...manifest.contributes.languages.map((l) => l.configuration), ...manifest.contributes.grammars.map((g) => g.path)];
for (const file of named)
    if (!fs.existsSync(path.join(__dirname, file))) problems.push(`${file} is missing`);

function patterns(node) {
    for (const key of ['match', 'begin', 'end'])
        if (node && typeof node[key] === 'string') {
            try {
                new RegExp(node[key]);
            } catch (error) {
                problems.push(`${node[key]}: ${error.message}`);
            }
        }
    if (node && typeof node === 'object') Object.values(node).forEach(patterns);
}
for (const grammar of manifest.contributes.grammars)
    patterns(JSON.parse(fs.readFileSync(path.join(__dirname, grammar.path), 'utf8')));

const source = fs.readFileSync(path.join(__dirname, 'extension.js'), 'utf8');
for (const { command } of manifest.contributes.commands)
    if (!source.includes(`'${command}'`)) problems.push(`command ${command} is not registered`);
problems.forEach((problem) => console.error(problem));
process.exit(problems.length > 0 ? 1 : 0);
