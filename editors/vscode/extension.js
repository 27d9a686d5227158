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

/** A panel with a value, its statistics, and its first rows. */
async function preview() {
    const active = session();
    if (!active) return;
    const expression = await vscode.window.showInputBox({ prompt: 'Which value?', placeHolder: 'acc[0]' });
    if (!expression) return;
    const frame = await frameId(active);
    const asked = async (text) => {
        try {
            return (await active.customRequest('evaluate', { expression: text, frameId: frame, context: 'watch' })).result;
        } catch (error) {
            return error.message;
        }
    };
    const rows = [];
    for (const what of ['shape', 'dtype', 'min', 'max', 'mean', 'std', 'nans', 'infs', 'zeros'])
        rows.push([what, await asked(`${what}(${expression})`)]);
    const panel = vscode.window.createWebviewPanel('loopscopeTensor', expression, vscode.ViewColumn.Beside, { enableScripts: false });
    panel.webview.html = `<!DOCTYPE html><meta charset="utf-8"><body><h2>${escaped(expression)}</h2><table>` +
        rows.map(([name, value]) => `<tr><td>${name}</td><td><code>${escaped(value)}</code></td></tr>`).join('') +
        `</table><pre>${escaped(await asked(expression))}</pre></body>`;
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
