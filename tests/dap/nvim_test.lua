-- Neovim with editors/nvim, and a server that it starts: file types, colours, and the moves of the set-up. nvim-dap, which others wrote, is
-- stood for by as much of it as the set-up uses. PROGRAM comes in $LOOPSCOPE; tests/dap/CMakeLists.txt has the command line.
local program = os.getenv('LOOPSCOPE')

-- File types and colours.
vim.cmd('filetype on | syntax on')
local function group(line, column)
  return vim.fn.synIDattr(vim.fn.synID(line, column, 1), 'name')
end
local function place(text)
  for number, line in ipairs(vim.api.nvim_buf_get_lines(0, 0, -1, false)) do
    local at = line:find(text, 1, true)
    if at then
      return number, at
    end
  end
  error('no ' .. text)
end
vim.cmd('edit samples/text/collatz.lsir')
assert(vim.bo.filetype == 'lsir', 'filetype: ' .. vim.bo.filetype)
assert(group(place('graph')) == 'lsirSection', group(place('graph')))
assert(group(place('while(')) == 'lsirFlow', group(place('while(')))
assert(group(place('add(')) == 'lsirOperator', group(place('add(')))
assert(group(place('i32')) == 'lsirType', group(place('i32')))
vim.cmd('edit tests/ops/abs.ltest')
assert(vim.bo.filetype == 'ltest', 'filetype: ' .. vim.bo.filetype)
assert(vim.b.current_syntax == 'ltest')

-- The debug adapter, over the protocol.
local dap = { adapters = {}, configurations = {} }
package.loaded.dap = dap
require('loopscope').setup({ program = program })
local adapter = dap.adapters.loopscope
assert(adapter.type == 'executable' and adapter.command == program and adapter.args[1] == 'dap')
local launch = dap.configurations.lsir[1]
assert(launch.request == 'launch' and dap.configurations.lsir[2].request == 'attach')

local input, output = vim.loop.new_pipe(false), vim.loop.new_pipe(false)
local ended = false
assert(vim.loop.spawn(adapter.command, { args = adapter.args, stdio = { input, output, nil } }, function() ended = true end))
local session, rest, seq, handlers, events = {}, '', 0, {}, {}
output:read_start(function(_, data)
  rest = rest .. (data or '')
  while true do
    local head, length = rest:match('^(Content%-Length: (%d+)\r\n\r\n)')
    if not head or #rest < #head + tonumber(length) then
      return
    end
    local message = vim.json.decode(rest:sub(#head + 1, #head + tonumber(length)))
    rest = rest:sub(#head + tonumber(length) + 1)
    if message.type == 'response' then
      local handle = handlers[message.request_seq]
      vim.schedule(function() handle(not message.success and message or nil, message.body) end)
    else
      events[#events + 1] = message
    end
  end
end)
function session:request(command, arguments, handle)
  seq = seq + 1
  handlers[seq] = handle or function() end
  local body = vim.json.encode({ seq = seq, type = 'request', command = command, arguments = arguments })
  input:write('Content-Length: ' .. #body .. '\r\n\r\n' .. body)
end
local function ask(command, arguments)
  local answer, problem
  session:request(command, arguments, function(wrong, body)
    answer, problem = body or {}, wrong
  end)
  assert(vim.wait(20000, function() return answer ~= nil end), command)
  assert(not problem, command .. ': ' .. vim.inspect(problem))
  return answer
end
local function event(name)
  local found
  assert(vim.wait(20000, function()
    for k, message in ipairs(events) do
      if message.event == name then
        found = table.remove(events, k)
        return true
      end
    end
  end), 'no ' .. name)
  return found.body
end
dap.session = function() return session end

ask('initialize', { adapterID = 'loopscope' })
ask('launch', { program = 'samples/text/collatz.lsir', inputs = { 'x=27' }, stopOnEntry = launch.stopOnEntry })
event('initialized')
ask('configurationDone', vim.empty_dict())
assert(event('stopped').reason == 'entry')
vim.cmd('LoopscopeGoto main/while#0@37:body/if#2')
assert(event('stopped').reason == 'goto')
vim.cmd('LoopscopeIterate 40')
event('stopped')
local frame = ask('stackTrace', { threadId = 1 }).stackFrames[1]
assert(frame.name == 'step, iteration 40', frame.name)
vim.cmd('LoopscopeStepBackIn')
event('stopped')
vim.cmd('LoopscopeStepBackOut')
event('stopped')
assert(ask('stackTrace', { threadId = 1 }).stackFrames[1].name == 'main')
local told
vim.notify = function(text) told = text end
vim.cmd('LoopscopeGoto nowhere')
assert(vim.wait(20000, function() return told ~= nil end) and told:find('nowhere'), told)
ask('disconnect', vim.empty_dict())
assert(vim.wait(20000, function() return ended end), 'the server goes on')
io.write('ok\n')
