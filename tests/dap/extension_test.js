// The extension of VS Code with an editor that is made up here and a server that is not: what it starts, what a hover and a panel show, and
// the moves that it adds. `node extension_test.js PROGRAM`.
const assert = require('assert');
const { spawn } = require('child_process');
const fs = require('fs');
const Module = require('module');
const path = require('path');

const program = process.argv[2];
const model = path.resolve('samples/text/nan_at_613.lsir');
const made = { commands: {}, panels: [], messages: [] };
const answers = [];

const vscode = {
    debug: {
        registerDebugAdapterDescriptorFactory: (type, factory) => { made.factory = factory; },
        registerDebugConfigurationProvider: (type, provider) => { made.provider = provider; }
    },
    languages: { registerHoverProvider: (language, provider) => { made.hover = provider; } },
    commands: { registerCommand: (name, run) => { made.commands[name] = run; } },
    workspace: { getConfiguration: () => ({ get: () => program }) },
    window: {
        activeTextEditor: { document: { languageId: 'lsir', fileName: model } },
        showInputBox: async () => answers.shift(),
        showErrorMessage: async (text) => { made.messages.push(text); },
        showInformationMessage: async (text) => { made.messages.push(text); },
        createWebviewPanel: (kind, title) => {
            made.panels.push({ title, webview: { html: '' } });
            return made.panels[made.panels.length - 1];
        }
    },
    ViewColumn: { Beside: -2 },
    DebugAdapterExecutable: class { constructor(command, words) { Object.assign(this, { command, words }); } },
    MarkdownString: class { appendCodeblock(text) { this.value = text; return this; } },
    Hover: class { constructor(contents, range) { Object.assign(this, { contents, range }); } }
};
const load = Module._load;
Module._load = (name, ...rest) => name === 'vscode' ? vscode : load(name, ...rest);

/** As much of the protocol as an editor needs. */
class Session {
    constructor(command, words) {
        Object.assign(this, { type: 'loopscope', seq: 0, open: {}, heard: [], waiting: [], rest: Buffer.alloc(0) });
        this.server = spawn(command, words, { stdio: ['pipe', 'pipe', 'inherit'] });
        this.server.stdout.on('data', (data) => this.read(data));
    }
    read(data) {
        this.rest = Buffer.concat([this.rest, data]);
        for (;;) {
            const head = /^Content-Length: (\d+)\r\n\r\n/.exec(this.rest.toString('latin1', 0, 64));
            if (!head || this.rest.length < head[0].length + Number(head[1])) return;
            const message = JSON.parse(this.rest.toString('utf8', head[0].length, head[0].length + Number(head[1])));
            this.rest = this.rest.subarray(head[0].length + Number(head[1]));
            if (message.type === 'response') {
                const { resolve, reject } = this.open[message.request_seq];
                if (message.success) resolve(message.body || {});
                else reject(new Error(message.message));
            } else if (message.type === 'event') {
                this.heard.push(message);
                this.waiting.splice(0).forEach((look) => look());
            }
        }
    }
    customRequest(command, given) {
        const body = JSON.stringify({ seq: ++this.seq, type: 'request', command, arguments: given });
        this.server.stdin.write(`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
        return new Promise((resolve, reject) => { this.open[this.seq] = { resolve, reject }; });
    }
    async event(name) {
        for (;;) {
            const at = this.heard.findIndex((message) => message.event === name);
            if (at >= 0) return this.heard.splice(at, 1)[0].body;
            await new Promise((resolve) => this.waiting.push(resolve));
        }
    }
}

async function main() {
    require(path.resolve('editors/vscode/extension.js')).activate({ subscriptions: [] });
    const manifest = JSON.parse(fs.readFileSync('editors/vscode/package.json', 'utf8'));
    for (const { command } of manifest.contributes.commands) assert.ok(made.commands[command], command);
    const adapter = made.factory.createDebugAdapterDescriptor();
    assert.deepStrictEqual(adapter.words, ['dap']);
    const launch = made.provider.resolveDebugConfiguration(undefined, {});
    assert.strictEqual(launch.program, model);

    await made.commands['loopscope.goto']();
    assert.strictEqual(made.messages.pop(), 'No Loopscope session is running.');
    const session = new Session(adapter.command, adapter.words);
    await session.customRequest('initialize', { adapterID: 'loopscope' });
    await session.customRequest('launch', { ...launch, inputs: { n: 1000 } });
    await session.event('initialized');
    await session.customRequest('configurationDone', {});
    await session.event('stopped');
    vscode.debug.activeDebugSession = session;

    answers.push('main/while#0@600:body/add#6');
    await made.commands['loopscope.goto']();
    assert.strictEqual((await session.event('stopped')).reason, 'goto');
    const hover = await made.hover.provideHover({ getWordRangeAtPosition: () => 'here', getText: () => 'state' }, 0);
    assert.match(hover.contents.value, /^state: f32\[4\] = \[/);
    assert.strictEqual(await made.hover.provideHover({ getWordRangeAtPosition: () => 'here', getText: () => 'nosuch' }, 0), undefined);

    answers.push('state');
    await made.commands['loopscope.preview']();
    answers.push('1 +');
    await made.commands['loopscope.preview']();
    answers.push('620');
    await made.commands['loopscope.iterate']();
    await session.event('stopped');
    answers.push('state');
    await made.commands['loopscope.preview']();
    const [state, wrong, spoilt] = made.panels.map((panel) => panel.webview.html);
    assert.strictEqual(state.match(/<rect /g).length, 4);
    assert.match(state, /<td>max<\/td><td><code>[\d.]+/);
    assert.ok(!state.includes('#a020c0') && spoilt.includes('#a020c0')); // NaN
    assert.ok(!wrong.includes('<svg') && wrong.includes('<pre>'));

    answers.push('no such place');
    await made.commands['loopscope.goto']();
    assert.match(made.messages.pop(), /no such place/);
    await made.commands['loopscope.stepBackIn']();
    await session.event('stopped');
    await session.customRequest('disconnect', {});
    await new Promise((resolve) => session.server.on('exit', resolve));
}

main().then(() => console.log('ok'), (error) => {
    console.error(error);
    process.exit(1);
}).then(() => process.exit());
