import t, { type Test } from 'tap'
import envCommand from '../../../../cli/commands/account/env.ts'
import { toAccountName, toNamespaceName } from '../../../../cli/session/environments.ts'
import { readConfig, writeConfig } from '../../../../cli/state/config.ts'
import { readCredentials, writeCredentials } from '../../../../cli/state/tokens.ts'
import { makeTempFolder } from '../../../fixtures/temp-folder.ts'

process.env['HOME'] = makeTempFolder(t, 'home')
for (const name of Object.keys(process.env)) if (/^MX_/.test(name)) delete process.env[name]
process.stdout.isTTY = false

async function env(t: Test, ...words: string[]): Promise<string> {
  const written = t.capture(process.stdout, 'write', () => true)
  try {
    await envCommand.run(words)
  } finally {
    written.restore()
  }
  return written()
    .map(({ args }) => String(args[0]))
    .join('')
}

/** Name and address of each line. */
async function list(t: Test): Promise<string[]> {
  return (await env(t))
    .split('\n')
    .map((line) => line.split(/\t+/).slice(0, 2).join(' '))
    .slice(0, -1)
}

t.test('env lists environments by name; * marks the selected one', async (t) => {
  t.same(await list(t), ['  dev none', '* local 127.0.0.1:8081', '  platform none'])
  t.match(await env(t), /^\* local\t+127\.0\.0\.1:8081\t+mx server on this machine$/m)
  t.equal(await env(t, 'list'), await env(t))
  t.match(JSON.parse(await env(t, 'list', '-o', 'json'))[1], { name: 'local', selected: true })
})

t.test('an added environment can be selected and deleted', async (t) => {
  t.equal(await env(t, 'add', 'staging', 'staging.example.com:8081'), '')
  t.same(JSON.parse(await env(t, 'set', 'staging', '-o', 'json')), { name: 'staging' })
  t.equal(await env(t, 'get'), 'staging\n')
  t.match(
    await list(t),
    ['  dev none', '  local', '  platform none', '* staging staging.example.com:8081'].map(
      (line) => new RegExp(`^${line.replace('*', '\\*')}`),
    ),
  )
  t.equal(await env(t, 'get', '--env=local'), 'local\n')
  process.env['MX_ENV'] = 'dev'
  t.equal(await env(t, 'get'), 'dev\n')
  delete process.env['MX_ENV']
  await env(t, 'del', 'staging')
  t.equal(await env(t, 'get'), 'local\n')
  t.equal((await list(t)).length, 3)
})

t.test(
  'a built-in environment can be overridden; deleting the override restores its address',
  async (t) => {
    await env(t, 'add', 'local', '127.0.0.1:9')
    t.match(await list(t), [String, '* local 127.0.0.1:9', String])
    await env(t, 'del', 'local')
    t.match(await list(t), [String, '* local 127.0.0.1:8081', String])
  },
)

t.test('adding an environment again without an address retains its address', async (t) => {
  for (const [name, address] of [
    ['staging', 'staging.example.com:8081'],
    ['local', '127.0.0.1:8081'],
  ] as const) {
    if (name !== 'local') await env(t, 'add', name, address)
    t.same(JSON.parse(await env(t, 'add', name, '-o', 'json')), { name, address })
    t.match(await env(t), `${name}\t`)
    t.ok((await list(t)).some((line) => line.endsWith(` ${name} ${address}`)))
    await env(t, 'del', name)
  }
})

t.test(
  'deleting an environment deletes its login, unless another environment has the same address',
  async (t) => {
    const credentials = { accessToken: 'a', refreshToken: 'r', expiry: 1 }
    const owner = (address: string) => ({ address, namespace: 'shop', account: 'ann' })
    const isKnown = (address: string) => readCredentials(owner(address)) !== undefined
    for (const [name, address] of [
      ['one', 'one.example.com'],
      ['two', 'two.example.com:443'],
      ['again', 'mx://two.example.com:443'],
    ] as const) {
      await env(t, 'add', name, address)
      await writeConfig(toAccountName({ name }), 'ann')
      await writeConfig(toNamespaceName({ name }), 'shop')
    }
    await writeCredentials(owner('one.example.com:443'), credentials)
    await writeCredentials(owner('two.example.com:443'), credentials)
    await env(t, 'del', 'one')
    t.notOk(isKnown('one.example.com:443'))
    t.equal(readConfig().get(toAccountName({ name: 'one' })), '')
    t.equal(readConfig().get(toNamespaceName({ name: 'one' })), '')
    t.equal(readConfig().get(toNamespaceName({ name: 'two' })), 'shop')
    await env(t, 'del', 'two')
    t.ok(isKnown('two.example.com:443'), 'another environment is at the same address')
    await env(t, 'del', 'again')
    t.notOk(isKnown('two.example.com:443'))
  },
)

t.test('invalid names, addresses and subcommands are rejected with a hint', async (t) => {
  for (const [words, message] of [
    [['set', 'locla'], "Environment 'locla' does not exist, did you mean local? See 'mx env'"],
    [['del', 'nothing'], "Environment 'nothing' does not exist. See 'mx env'"],
    [['del', 'local'], "Environment 'local' is built in and cannot be deleted"],
    [['add', 'a.b', 'x:1'], /must be letters, digits, - and _, got a\.b/],
    [['add', 'envs', 'h:1'], /^environment name envs is reserved, as are env, envs, /],
    [['add', 'x', 'a b'], /must be host:port, or mxs:.* got a b/],
    [['add', 'x', 'a:99999'], /must be host:port, or mxs:.* got a:99999/],
    [['add'], /^Too few arguments/],
    [['lst'], /did you mean list\?/],
  ] as const)
    await t.rejects(env(t, ...words), { message, status: 2 }, words.join(' '))
})

t.test('concurrent changes by several processes are all stored', async (t) => {
  const names = Array.from({ length: 8 }, (_, i) => `e${i}`)
  await Promise.all(names.map((name) => envCommand.run(['add', name, 'h:1'])))
  t.equal((await list(t)).length, 3 + names.length)
})
