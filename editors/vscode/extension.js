// The extension: starts `loopscope dap` as the debug adapter, shows tensors under the pointer and in a panel, and adds the moves that the
// protocol has no button for.
const vscode = require('vscode');

/** A word as expressions name values: `acc`, `model/dense.out`. */
const word = /[A-Za-z_][A-Za-z0-9_./]*/;

function session() {
    const active = vscode.debug.activeDebugSession;
    return active && active.type === 'loopscope' ? active : undefined;
}

async function frameId(active) {
    const stack = await active.customRequest('stackTrace', { threadId: 1, startFrame: 0, levels: 1 });
    return stack.stackFrames.length > 0 ? stack.stackFrames[0].id : undefined;
}

async function request(name, argumentsOf) {
    const active = session();
    if (!active) return vscode.window.showInformationMessage('No Loopscope session is running.');
    const given = argumentsOf ? await argumentsOf() : {};
    if (given === undefined) return undefined;
    try {
        return await active.customRequest(name, Object.assign({ threadId: 1 }, given));
    } catch (error) {
        return vscode.window.showErrorMessage(error.message);
    }
}

function escaped(text) {
    return text.replace(/[&<>"]/g, (c) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }[c]));
}

/** How the elements of a dtype lie in memory: bytes, and the reader of DataView. */
const elements = {
    f32: [4, 'getFloat32'], f64: [8, 'getFloat64'], i8: [1, 'getInt8'], u8: [1, 'getUint8'], bool: [1, 'getUint8'], i16: [2, 'getInt16'],
    u16: [2, 'getUint16'], i32: [4, 'getInt32'], u32: [4, 'getUint32'], i64: [8, 'getBigInt64'], u64: [8, 'getBigUint64']
};
const mostCells = 64;

/** The first matrix of a value, thinned out to at most 64 × 64 numbers; undefined where its elements are no numbers. */
async function matrixOf(active, value) {
    const type = /^(\w+)\[([\d,]*)\]/.exec(value.type || '');
    if (!type || !elements[type[1]] || !value.memoryReference) return undefined;
    const [size, reader] = elements[type[1]];
    const dims = type[2] === '' ? [] : type[2].split(',').map(Number);
    const columns = dims.length > 0 ? dims[dims.length - 1] : 1;
    const rows = dims.length > 1 ? dims[dims.length - 2] : 1;
    if (rows * columns === 0) return undefined;
    const [down, across] = [Math.ceil(rows / mostCells), Math.ceil(columns / mostCells)];
    const matrix = [];
    for (let row = 0; row < rows; row += down) {
        const offset = row * columns * size;
        const read = await active.customRequest('readMemory', { memoryReference: value.memoryReference, offset, count: columns * size });
        const bytes = Buffer.from(read.data || '', 'base64');
        const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
        const line = [];
        for (let column = 0; (column + 1) * size <= bytes.length; column += across) line.push(Number(view[reader](column * size, true)));
        matrix.push(line);
    }
    return matrix;
}

/** A heat map: blue below zero, red above, violet where there is no number. */
function heatMap(matrix) {
    const most = Math.max(Number.MIN_VALUE, ...matrix.flat().filter(Number.isFinite).map(Math.abs));
    const cell = Math.max(4, Math.min(24, Math.floor(480 / Math.max(matrix.length, matrix[0].length))));
    const cells = matrix.map((line, row) => line.map((value, column) => {
        const pale = 255 - Math.floor(215 * Math.abs(value) / most);
        const colour = !Number.isFinite(value) ? '#a020c0' : value < 0 ? `rgb(${pale},${pale},255)` : `rgb(255,${pale},${pale})`;
        return `<rect x="${column * cell}" y="${row * cell}" width="${cell}" height="${cell}" fill="${colour}"><title>${value}</title></rect>`;
    }).join('')).join('');
    return `<svg xmlns="http://www.w3.org/2000/svg" width="${matrix[0].length * cell}" height="${matrix.length * cell}">${cells}</svg>`;
}

/** A panel with a value: its statistics, its picture, its first rows. */
async function preview() {
    const active = session();
    if (!active) return;
    const expression = await vscode.window.showInputBox({ prompt: 'Which value?', placeHolder: 'acc[0]' });
    if (!expression) return;
    const frame = await frameId(active);
    const asked = async (text) => {
        try {
            return await active.customRequest('evaluate', { expression: text, frameId: frame, context: 'watch' });
        } catch (error) {
            return { result: error.message };
        }
    };
    const rows = [];
    for (const what of ['shape', 'dtype', 'min', 'max', 'mean', 'std', 'nans', 'infs', 'zeros'])
        rows.push([what, (await asked(`${what}(${expression})`)).result]);
    const value = await asked(expression);
    const matrix = await matrixOf(active, value).catch(() => undefined);
    const panel = vscode.window.createWebviewPanel('loopscopeTensor', expression, vscode.ViewColumn.Beside, { enableScripts: false });
    panel.webview.html = `<!DOCTYPE html><meta charset="utf-8"><body><h2>${escaped(expression)}</h2><table>` +
        rows.map(([name, text]) => `<tr><td>${name}</td><td><code>${escaped(text)}</code></td></tr>`).join('') +
        `</table>${matrix && matrix.length > 0 && matrix[0].length > 0 ? heatMap(matrix) : ''}<pre>${escaped(value.result)}</pre></body>`;
}

class Hover {
    async provideHover(document, position) {
        const active = session();
        const range = document.getWordRangeAtPosition(position, word);
        if (!active || !range) return undefined;
        try {
            const name = document.getText(range);
            const frame = await frameId(active);
            const value = await active.customRequest('evaluate', { expression: name, frameId: frame, context: 'hover' });
            return new vscode.Hover(new vscode.MarkdownString().appendCodeblock(`${name}: ${value.type || ''} = ${value.result}`, 'lsir'), range);
        } catch (error) {
            return undefined;
        }
    }
}

function activate(context) {
    const adapter = {
        createDebugAdapterDescriptor() {
            const program = vscode.workspace.getConfiguration('loopscope').get('program') || 'loopscope';
            return new vscode.DebugAdapterExecutable(program, ['dap']);
        }
    };
    const configuration = {
        resolveDebugConfiguration(folder, config) {
            if (config.type) return config;
            const editor = vscode.window.activeTextEditor;
            if (!editor || editor.document.languageId !== 'lsir') return config;
            return { type: 'loopscope', request: 'launch', name: 'this model', program: editor.document.fileName, stopOnEntry: true };
        }
    };
    const ask = (prompt, member, isNumber) => async () => {
        const text = await vscode.window.showInputBox({ prompt });
        if (!text) return undefined;
        return { [member]: isNumber && /^-?\d+$/.test(text) ? Number(text) : text };
    };
    context.subscriptions.push(
        vscode.debug.registerDebugAdapterDescriptorFactory('loopscope', adapter),
        vscode.debug.registerDebugConfigurationProvider('loopscope', configuration),
        vscode.languages.registerHoverProvider('lsir', new Hover()),
        vscode.commands.registerCommand('loopscope.stepBackIn', () => request('loopscope/stepBackIn')),
        vscode.commands.registerCommand('loopscope.stepBackOut', () => request('loopscope/stepBackOut')),
        vscode.commands.registerCommand('loopscope.goto', () => request('loopscope/goto', ask('An address, step:N, 50%, start, end, a mark', 'place'))),
        vscode.commands.registerCommand('loopscope.iterate', () => request('loopscope/iterate', ask('Which iteration? A number, or last', 'iteration', true))),
        vscode.commands.registerCommand('loopscope.preview', preview));
}

module.exports = { activate, deactivate() {} };
