-- nvim-dap for Loopscope: the adapter, two configurations, and commands for the moves that the protocol has no name for.
--   require('loopscope').setup({ program = 'loopscope' })
local M = {}

local function inputs()
  local given = {}
  for text in (vim.fn.input('Inputs (x=27 y=in.npy): ')):gmatch('%S+') do
    given[#given + 1] = text
  end
  return given
end

function M.setup(options)
  local dap = require('dap')
  local program = (options or {}).program or 'loopscope'
  dap.adapters.loopscope = { type = 'executable', command = program, args = { 'dap' } }
  dap.configurations.lsir = {
    { type = 'loopscope', request = 'launch', name = 'this model', program = '${file}', inputs = inputs, stopOnEntry = true },
    {
      type = 'loopscope',
      request = 'attach',
      name = 'a recording',
      trace = function()
        return vim.fn.input('Recording: ', vim.fn.getcwd() .. '/', 'file')
      end,
    },
  }
  local function request(name, arguments)
    local session = dap.session()
    if session then
      session:request(name, vim.tbl_extend('force', { threadId = 1 }, arguments or {}), function(problem)
        if problem then
          vim.notify(problem.message or tostring(problem), vim.log.levels.ERROR)
        end
      end)
    end
  end
  local commands = {
    LoopscopeStepBackIn = function() request('loopscope/stepBackIn') end,
    LoopscopeStepBackOut = function() request('loopscope/stepBackOut') end,
    LoopscopeGoto = function(command) request('loopscope/goto', { place = command.args }) end,
    LoopscopeIterate = function(command)
      request('loopscope/iterate', { iteration = tonumber(command.args) or command.args })
    end,
  }
  for name, action in pairs(commands) do
    vim.api.nvim_create_user_command(name, action, { nargs = '?' })
  end
end

return M
