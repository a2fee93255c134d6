import t from 'tap'
import callCommand from '../../../../cli/commands/calls/call.ts'
import streamCommand from '../../../../cli/commands/calls/stream.ts'
import { Type } from '../../../../core/schema.ts'
import { Int64 } from '../../../../sdk/schema/schema-types.ts'
import { endpoint } from '../../../../sdk/service/endpoint.ts'
import { Service } from '../../../../sdk/service/service.ts'
import { openCliServer } from '../../../fixtures/cli-server.ts'
import { createQuietLog } from '../../../fixtures/sdk-services.ts'

const { run, mx, proxy } = await openCliServer(t)
const Message = Type.Object({ id: Int64() })
const echo = new Service({
  name: 'echo',
  proxy,
  auth: { id: 'admin', secret: 'mx' },
  log: createQuietLog().log,
}).handle('Echo', {
  call: endpoint({
    request: Message,
    handle: ({ id }, ctx) => ({ id: String(id), colour: ctx.fields.indexOf('x-colour') >= 0 }),
  }),
  count: endpoint({
    stream: 'server',
    *handle() {
      yield { n: 1 }
      yield { n: 2 }
    },
  }),
})
const address = await echo.start()
t.teardown(() => echo.stop())

t.test('call prints the response without rounding integers', async (t) => {
  const args = ['echo', 'Echo.Call', '{"id":9007199254740993}'] as const
  t.equal(await run(callCommand, ...args), '{\n\t"id": "9007199254740993",\n\t"colour": false\n}\n')
  t.equal(
    await run(callCommand, ...args, '-o', 'raw', '--metadata', 'X-Colour=red'),
    '{"id":"9007199254740993","colour":true}\n',
  )
  t.match(await run(callCommand, ...args, `--address=${address}`), /"id"/)
  t.match(await mx(['call', 'echo', 'Echo.Call', '-'], '{"id":7}'), {
    code: 0,
    stdout: /"id": "7"/,
  })
})

t.test('stream prints each response on one line', async (t) => {
  t.equal(await run(streamCommand, 'echo', 'Echo.Count'), '{"n":1}\n{"n":2}\n')
  t.equal(
    await run(streamCommand, 'echo', 'Echo.Count', '{}', '-o', 'yaml'),
    '---\nn: 1\n---\nn: 2\n',
  )
})

t.test('errors have the documented messages and exit statuses', async (t) => {
  for (const [args, message, status] of [
    [['echo', 'Call'], 'Method name "Call" invalid format. Expecting service.endpoint', 3],
    [['ehco', 'Echo.Call'], 'Service "ehco" not found, did you mean echo?', 4],
    [['echo', 'Echo.Cal'], 'Service method "Echo.Cal" not found, did you mean Echo.Call?', 5],
    [['missing', 'Missing.Call'], /^Service "missing" not found/, 4],
    [['echo', 'Echo.None'], /^Service method "Echo\.None" not found/, 5],
    [['echo', 'Echo.Call', '{"id":"x"}'], /request\.id/, 127],
    [['echo', 'Echo.Call', '{'], /^the request must be JSON: /, 2],
    [['echo'], /^Too few arguments/, 2],
    [['echo', 'Echo.Call', '{}', 'x'], /^Too many arguments/, 2],
    [['echo', 'Echo.Call', '--request_timeout=0'], /must be a duration such as/, 2],
    [['echo', 'Echo.Call', '--metadata=x'], /must be name=value/, 2],
    [['echo', 'Echo.Call', '-o', 'xml'], /json, yaml or raw/, 2],
  ] as const)
    await t.rejects(run(callCommand, ...args), { message, status }, args.join(' '))
})
