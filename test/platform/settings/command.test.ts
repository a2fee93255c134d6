import t from 'tap'
import { findWildcardHost } from '../../../core/http/host/wildcard-host.ts'
import { configurationFrom } from '../../../platform/config/load.ts'
import { parseConfig } from '../../../platform/config/parse-file.ts'
import { listSettings } from '../../../platform/settings/command.ts'
import { readEnvironment } from '../../../platform/settings/env.ts'
import { readFlags } from '../../../platform/settings/flags.ts'
import { formatAddress, parseBindAddress } from '../../../platform/settings/parse/address.ts'
import { listProblems } from '../../fixtures/settings-problems.ts'

const listNames = (command: 'api' | 'server') => listSettings(command).map(({ name }) => name)

t.test('mx api and mx server share settings, and each has further settings', async (t) => {
  const [api, server] = [listNames('api'), listNames('server')]
  for (const name of ['address', 'namespace', 'registry', 'max_body', 'log_level'])
    t.ok(api.includes(name) && server.includes(name), name)
  for (const name of ['handler', 'resolver', 'workers'])
    t.same([api.includes(name), server.includes(name)], [true, false], name)
  for (const name of ['profile', 'store_sync', 'proxy_address', 'web_address', 'runtime'])
    t.same([api.includes(name), server.includes(name)], [false, true], name)
})

t.test('mx server has the defaults of the local profile', async (t) => {
  const registry = listSettings('server').find(({ name }) => name === 'registry')
  t.match(registry, { default: 'memory' })
  t.match(
    listSettings('api').find(({ name }) => name === 'registry'),
    { default: 'static' },
  )
})

t.test(
  'rejects a setting of the other command with an error that names that command',
  async (t) => {
    t.same(
      listProblems(() => readFlags(['--events=memory'], 'api')),
      ["unknown flag --events: it is a setting of mx server, not of mx api. See 'mx api --help'"],
    )
    t.same(
      listProblems(() => readFlags(['--handler', 'web', '--profil=test'], 'server')),
      [
        "unknown flag --handler: it is a setting of mx api, not of mx server. See 'mx server --help'",
        "unknown flag --profil, did you mean --profile? See 'mx server --help'",
      ],
    )
    t.same(
      listProblems(() => parseConfig('events: memory\naddress: :1\n', 'mx.yaml', 'api')),
      [
        'mx.yaml:1:1: key "events" is not allowed in this file: it is a setting of mx server, not of mx api',
      ],
    )
    t.match(
      listProblems(() => parseConfig('stor: memory\nworkers: 2\n', 'mx.yaml', 'server')),
      [
        'mx.yaml:1:1: unknown key "stor", did you mean "store"?',
        'mx.yaml:2:1: key "workers" is not allowed in this file: it is a setting of mx api',
      ],
    )
  },
)

t.test('MX_API_* sets gateway settings of mx api and mx server', async (t) => {
  const env = { MX_API_ADDRESS: ':1', MX_API_EVENTS: 'memory', MX_EVENTS: 'lmdb', MX_WORKERS: '2' }
  t.same([...readEnvironment(env, 'server').keys()], ['address', 'events'])
  t.same(readEnvironment(env, 'server').get('events')?.values, ['lmdb'])
  t.same([...readEnvironment(env, 'api').keys()], ['address', 'workers'])
})

t.test(
  'MX_SERVER_* applies to mx server only and takes precedence over MX_API_* and MX_*',
  async (t) => {
    const env = {
      MX_SERVER_ADDRESS: ':1',
      MX_API_ADDRESS: ':2',
      MX_ADDRESS: ':3',
      MX_SERVER_ID: 'a',
    }
    const listValues = (command: 'api' | 'server') =>
      [...readEnvironment(env, command)].map(([key, { values }]) => [key, ...values])
    t.same(listValues('server'), [
      ['address', ':1'],
      ['serverId', 'a'],
    ])
    t.same(listValues('api'), [['address', ':2']])
  },
)

t.test(
  'a flag takes precedence over the environment, file and profile, in this order',
  async (t) => {
    const cwd = t.testdir({ 'mx.yaml': 'store: memory\nmax_body: 1kb\ndata_dir: state\n' })
    const load = (args: string[], env: Record<string, string>) =>
      configurationFrom(readFlags(args, 'server'), env, 'server')()
    const env = { MX_PROFILE: 'cluster', MX_CONFIG: `${cwd}/mx.yaml` }
    const { settings, inputs } = await load(['--registry=memory'], env)
    t.match(settings, {
      profile: 'cluster',
      registry: 'memory',
      store: 'memory',
      maxBodyBytes: 1024,
      address: { host: findWildcardHost(), port: 8080 },
      dataDir: `${cwd}/state`,
      namespace: '',
    })
    t.notOk(inputs.has('address'), 'values of the profile are not explicit')
    t.match((await load([], {})).settings, { profile: 'local', store: 'lmdb', registry: 'memory' })
    t.match((await load(['--profile=test'], env)).settings, { profile: 'test', store: 'memory' })
  },
)

t.test('rejects an unknown profile with an error that lists the profiles', async (t) => {
  const load = configurationFrom(new Map(), { MX_PROFILE: 'clutser' }, 'server')
  const message =
    'MX_PROFILE must be one of local, test, cluster, kubernetes, got "clutser", did you mean cluster?'
  await t.rejects(load(), { name: 'SettingsError', message })
})

t.test('rejects contradictory settings with an error that names their source', async (t) => {
  const getProblem = (args: string[], env: Record<string, string> = {}) =>
    configurationFrom(readFlags(args, 'server'), env, 'server')().then(
      () => '',
      (error: Error) => error.message,
    )
  t.match(
    await getProblem([], { MX_REGISTRY: 'mx://127.0.0.1:8081' }),
    /^MX_REGISTRY must be memory, consul:.* got "mx:\/\/127.0.0.1:8081": mx server is itself a registry/,
  )
  t.match(await getProblem(['--registry=static']), /^--registry must be memory/)
  t.equal(
    await getProblem(['--proxy_address=:8080']),
    `--proxy_address must differ from address, got ${formatAddress(parseBindAddress(':8080'))}`,
  )
  t.equal(
    await getProblem(['--web_address', '127.0.0.1:1', '--proxy_address=127.0.0.1:1']),
    '--web_address must differ from proxy_address, got 127.0.0.1:1',
  )
  t.equal(await getProblem(['--address=127.0.0.1:0', '--web_address=127.0.0.1:0']), '')
  t.equal(
    await getProblem(['--admin_address=127.0.0.1:8080']),
    '--admin_address must differ from address, got 127.0.0.1:8080',
  )
  t.equal(
    await getProblem(['--address=127.0.0.1:8089']),
    '',
    'the default admin address may conflict',
  )
  for (const args of [
    ['--config_secret_key=memory', '--store=lmdb'],
    ['--profile=test', '--store=postgres://a@b/c'],
  ])
    t.match(
      await getProblem(args),
      /config_secret_key must not be memory with a persistent store \(--store\): .* use file for one server, or a key for several$/,
    )
  t.equal(await getProblem(['--config_secret_key=memory', '--store=memory']), '')
  t.equal(await getProblem(['--address=127.0.0.2:8082']), '')
})
