import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import configCommand from '../../cli/commands/platform/config.ts'
import eventsCommand from '../../cli/commands/platform/events.ts'
import storeCommand from '../../cli/commands/platform/store.ts'
import runCommand from '../../cli/commands/runtime/run.ts'
import { Type } from '../../core/schema.ts'
import { badRequest } from '../../sdk/errors.ts'
import { endpoint } from '../../sdk/service/endpoint.ts'
import { Service } from '../../sdk/service/service.ts'
import { openCliServer } from '../fixtures/cli-server.ts'
import { createQuietLog } from '../fixtures/sdk-services.ts'
import { ADMIN } from '../fixtures/server.ts'
import { skipUnless } from '../fixtures/servers.ts'
import { runAtTerminal } from '../fixtures/terminal.ts'

const HOSTILE = 'x\x1b]0;title\x07\x1b[2J\0\ry\u009b2Jz\x7f\u202ew\u2066'
/** Control characters of terminals except line ends, tabs and colors. */
const CONTROL_CHARACTERS =
  /\x1b(?!\[[\d;:]*m)|[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]|\r(?!\r?\n)/u

const { home, env, run, mx, proxy } = await openCliServer(t)
const Message = Type.Object({
  text: Type.String({ default: '', description: `of ${HOSTILE}` }),
})
const hostile = new Service({
  ...{ name: 'hostile', proxy, auth: ADMIN, log: createQuietLog().log },
  metadata: { owner: HOSTILE },
}).handle('Hostile', {
  call: endpoint({
    description: `Calls ${HOSTILE}.`,
    request: Message,
    response: Message,
    handle: () => ({ text: HOSTILE }),
  }),
  fail: endpoint({
    handle(_, ctx) {
      throw badRequest(ctx.endpoint, HOSTILE)
    },
  }),
  count: endpoint({
    stream: 'server',
    *handle() {
      yield { text: HOSTILE }
    },
  }),
})
await hostile.start()
t.teardown(() => hostile.stop())

mkdirSync(join(home, 'loud'))
writeFileSync(
  join(home, 'loud', 'main.js'),
  `process.stdout.write(${JSON.stringify(`\x1b[31m${HOSTILE}\n`)})
require('node:http').createServer().listen(process.env.PORT, '127.0.0.1')`,
)
await run(runCommand, './loud', '--protocol=http')
await run(configCommand, 'set', 'hostile.text', HOSTILE)
await run(storeCommand, 'write', 'hostile', HOSTILE)
await run(eventsCommand, 'publish', 'hostile', HOSTILE, '--metadata', `from=${HOSTILE}`)

/** Commands that print the text as data, help or error. */
const COMMANDS: readonly (readonly string[])[] = [
  ['logs', 'loud'],
  ['logs', 'loud', '-o', 'json'],
  ['call', 'hostile', 'Hostile.Call'],
  ['call', 'hostile', 'Hostile.Call', '-o', 'raw'],
  ['call', 'hostile', 'Hostile.Call', '-o', 'yaml'],
  ['call', 'hostile', 'Hostile.Fail'],
  ['stream', 'hostile', 'Hostile.Count'],
  ['hostile', 'call'],
  ['hostile', 'call', '--help'],
  ['hostile', '--help'],
  ['registry', 'get', 'hostile'],
  ['config', 'get', 'hostile.text'],
  ['store', 'read', 'hostile'],
  ['events', 'read', 'hostile'],
  ['events', 'consume', 'hostile', '--offset=1', '-l', '1'],
  ['gen', 'client', 'hostile'],
]

t.test('no command passes terminal control sequences of a service', async (t) => {
  if (skipUnless(t, 'script') === undefined) return
  const nextCommand = COMMANDS.values()
  const runNext = async (): Promise<void> => {
    for (const args of nextCommand) {
      const output = await runAtTerminal(t, args, { cwd: home, env })
      t.match(output, '\\u202e', `${args.join(' ')}: prints the text`)
      t.notMatch(output, CONTROL_CHARACTERS, `${args.join(' ')}: prints no control characters`)
    }
  }
  await Promise.all([runNext(), runNext()])
})

t.test('a pipe receives every byte unchanged', async (t) => {
  t.match(await mx(['logs', 'loud']), { code: 0, stdout: `\x1b[31m${HOSTILE}\n` })
})
