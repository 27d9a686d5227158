// A session with the client of @vscode/debugadapter-testsupport: breakpoint in iteration 37 of a nested loop, step, back, edit, continue, and
// a stop at a NaN. `node foreign_client.js PROGRAM`; exit code 77 where the package is not installed (NODE_PATH, or a folder above).
const assert = require('assert');
const fs = require('fs');
const path = require('path');

let DebugClient;
try {
    ({ DebugClient } = require('@vscode/debugadapter-testsupport'));
} catch (error) {
    console.log('@vscode/debugadapter-testsupport is missing');
    process.exit(77);
}

const program = process.argv[2];
const nested = path.resolve('samples/text/nested_loops.lsir');
const nan = path.resolve('samples/text/nan_at_613.lsir');

async function nestedLoop() {
    const client = new DebugClient(program, 'dap', 'loopscope');
    await client.start();
    const line = fs.readFileSync(nested, 'utf8').split('\n').findIndex((text) => text.includes('product = mul')) + 1;
    const breakpoints = [{ line, condition: 'iter == 37 and r == 2' }];
    const begin = client.waitForEvent('initialized')
        .then(() => client.setBreakpointsRequest({ source: { path: nested }, breakpoints }))
        .then((response) => assert.strictEqual(response.body.breakpoints[0].verified, true))
        .then(() => client.configurationDoneRequest());
    await Promise.all([begin, client.launch({ program: nested, inputs: { rows: 4, columns: 50 } }),
        client.assertStoppedLocation('breakpoint', { path: nested, line })]);
    let frame = (await client.stackTraceRequest({ threadId: 1 })).body.stackFrames[0];
    assert.strictEqual(frame.name, 'cell, iteration 37');
    await Promise.all([client.nextRequest({ threadId: 1 }), client.assertStoppedLocation('step', { path: nested, line: line + 1 })]);
    await Promise.all([client.stepBackRequest({ threadId: 1 }), client.assertStoppedLocation('step', { path: nested, line })]);
    frame = (await client.stackTraceRequest({ threadId: 1 })).body.stackFrames[0];
    const carried = (await client.scopesRequest({ frameId: frame.id })).body.scopes.find((scope) => scope.name === 'Carried');
    const set = await client.setVariableRequest({ variablesReference: carried.variablesReference, name: 'sum', value: '0' });
    assert.strictEqual(set.body.value, '0');
    await client.setBreakpointsRequest({ source: { path: nested }, breakpoints: [] });
    const [stopped] = await Promise.all([client.waitForEvent('stopped'), client.continueRequest({ threadId: 1 })]);
    assert.strictEqual(stopped.body.reason, 'end');
    const back = await Promise.all([client.waitForEvent('stopped'), client.reverseContinueRequest({ threadId: 1 })]);
    assert.strictEqual(back[0].body.reason, 'start');
    await client.stop();
}

async function firstNan() {
    const client = new DebugClient(program, 'dap', 'loopscope');
    await client.start();
    const begin = client.waitForEvent('initialized')
        .then(() => client.setExceptionBreakpointsRequest({ filters: ['nan'] }))
        .then(() => client.configurationDoneRequest());
    const [stopped] = await Promise.all([client.waitForEvent('stopped'), begin, client.launch({ program: nan, inputs: { n: 1000 } })]);
    assert.strictEqual(stopped.body.reason, 'exception');
    const info = (await client.exceptionInfoRequest({ threadId: 1 })).body;
    assert.strictEqual(info.exceptionId, 'NaN');
    const frame = (await client.stackTraceRequest({ threadId: 1 })).body.stackFrames[0];
    assert.strictEqual(frame.name, 'filter, iteration 613');
    await client.stop();
}

nestedLoop().then(firstNan).then(() => console.log('ok'), (error) => {
    console.error(error);
    process.exit(1);
}).then(() => process.exit());
