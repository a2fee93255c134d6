import t from 'tap'
import { findWildcardHost } from '../../../core/http/host/wildcard-host.ts'
import { findMisspelt, readEnvironment } from '../../../platform/settings/env.ts'
import { readFlags } from '../../../platform/settings/flags.ts'
import { SETTINGS, type Settings } from '../../../platform/settings/settings.ts'
import { findSetting, mergeSettings, SETTING_KEYS } from '../../../platform/settings/sources.ts'
import { listProblems } from '../../fixtures/settings-problems.ts'

t.test('every setting has a valid default', async (t) => {
  const settings = mergeSettings()
  t.same(
    settings.address,
    { host: '127.0.0.1', port: 8080 },
    'profile local listens on loopback only',
  )
  t.equal(settings.namespace, 'go.mx.api')
  t.equal(settings.drainTimeoutMs, 10_000)
  t.equal(settings.maxMessageBytes, 1024 * 1024)
  t.equal(settings.maxClientWebSockets, 'auto')
  t.equal(settings.workers, 1)
  t.equal(settings.maxUnreadBytes, 'auto')
  t.equal(settings.maxBufferedBytes, 'auto')
  t.same(settings.backends, [])
  t.equal(Object.keys(settings).length, SETTING_KEYS.length)
})

t.test(
  'names are unique words joined by underscores and are also found with hyphens',
  async (t) => {
    const names = SETTING_KEYS.map((key) => SETTINGS[key].name)
    t.equal(new Set(names).size, names.length)
    for (const key of SETTING_KEYS) {
      const { name } = SETTINGS[key]
      t.match(name, /^[a-z]+[0-9]?(_[a-z]+)*$/)
      t.equal(findSetting(name.replaceAll('_', '-')), key)
    }
  },
)

t.test('flags and variables are parsed identically', async (t) => {
  const cases: [flags: string[], env: Record<string, string>, expected: Partial<Settings>][] = [
    [
      ['--address', 'localhost:80'],
      { MX_ADDRESS: 'localhost:80' },
      { address: { host: 'localhost', port: 80 } },
    ],
    [
      ['--address=:8080'],
      { MX_API_ADDRESS: ':8080' },
      { address: { host: findWildcardHost(), port: 8080 } },
    ],
    [['--address=[::1]:0'], { MX_ADDRESS: '[::1]:0' }, { address: { host: '::1', port: 0 } }],
    [['--handler', 'web'], { MX_API_HANDLER: 'web' }, { handler: 'web' }],
    [['--namespace', 'a.b-c'], { MX_NAMESPACE: 'a.b-c' }, { namespace: 'a.b-c' }],
    [['--namespace', ' '], { MX_NAMESPACE: ' ' }, { namespace: '' }],
    [['--namespace=1e3'], { MX_API_NAMESPACE: '1e3' }, { namespace: '1e3' }],
    [['--admin_address=none'], { MX_ADMIN_ADDRESS: 'none' }, { adminAddress: undefined }],
    [['--drain_delay', '5s'], { MX_DRAIN_DELAY: '5s' }, { drainDelayMs: 5000 }],
    [['--drain_delay=0'], { MX_DRAIN_DELAY: '0s' }, { drainDelayMs: 0 }],
    [['--drain_timeout', '250ms'], { MX_DRAIN_TIMEOUT: '250ms' }, { drainTimeoutMs: 250 }],
    [['--drain-timeout', 'none'], { MX_DRAIN_TIMEOUT: 'none' }, { drainTimeoutMs: 2 ** 31 - 1 }],
    [['--max_body', '1.5mb'], { MX_MAX_BODY: '1536kb' }, { maxBodyBytes: 1536 * 1024 }],
    [['--max_body', 'none'], { MX_MAX_BODY: 'none' }, { maxBodyBytes: Number.POSITIVE_INFINITY }],
    [['--workers', 'auto'], { MX_WORKERS: 'auto' }, { workers: 'auto' }],
    [
      ['--plugin', 'a', '--plugin=./b.ts'],
      { MX_PLUGIN: 'a, ./b.ts' },
      { plugins: ['a', './b.ts'] },
    ],
    [
      ['--backend', 'a=127.0.0.1:1,127.0.0.1:2;3', '--backend', 'b=[::1]:1'],
      { MX_BACKEND: 'a=127.0.0.1:1,127.0.0.1:2;3 b=[::1]:1' },
      { backends: ['a=127.0.0.1:1,127.0.0.1:2;3', 'b=[::1]:1'] },
    ],
    [
      ['--trusted_proxies', '10.0.0.0/8,::1', '--trusted-proxies=loopback'],
      { MX_TRUSTED_PROXIES: '10.0.0.0/8, ::1, loopback' },
      { trustedProxies: ['10.0.0.0/8', '::1', 'loopback'] },
    ],
    [
      ['--trusted_proxies_header=forwarded'],
      { MX_TRUSTED_PROXIES_HEADER: 'forwarded' },
      { trustedProxiesHeader: 'forwarded' },
    ],
    [
      ['--trusted_proxies_optional'],
      { MX_TRUSTED_PROXIES_OPTIONAL: 'true' },
      { trustedProxiesOptional: true },
    ],
    [
      ['--cors_origins', 'https://a.test,*'],
      { MX_CORS_ORIGINS: 'https://a.test,*' },
      { corsOrigins: ['https://a.test', '*'] },
    ],
    [['--web_origins=same-host'], { MX_WEB_ORIGINS: 'same-host' }, { webOrigins: [] }],
    [
      ['--web_origins=https://a.test', '--web_origins=https://*.b.test'],
      { MX_WEB_ORIGINS: 'https://a.test,same-host,https://*.b.test' },
      { webOrigins: ['https://a.test', 'https://*.b.test'] },
    ],
    [['--hosts=local'], { MX_HOSTS: 'local' }, { hosts: [] }],
    [
      ['--hosts=a.test,*.b.test'],
      { MX_HOSTS: 'local,a.test,*.b.test' },
      { hosts: ['a.test', '*.b.test'] },
    ],
    [['--access_log', 'off'], { MX_ACCESS_LOG: 'false' }, { accessLog: 'off' }],
    [
      [
        '--enable_tls',
        '--tls_cert_file',
        'a.pem,b.pem',
        '--tls_key_file=a.key',
        '--tls_key_file=b.key',
      ],
      { MX_ENABLE_TLS: 'true', MX_TLS_CERT_FILE: 'a.pem,b.pem', MX_TLS_KEY_FILE: 'a.key,b.key' },
      { enableTls: true, tlsCertFiles: ['a.pem', 'b.pem'], tlsKeyFiles: ['a.key', 'b.key'] },
    ],
    [
      ['--enable_tls', 'false', '--log_level=debug'],
      { MX_ENABLE_TLS: '0', MX_LOG_LEVEL: 'debug' },
      { enableTls: false, logLevel: 'debug' },
    ],
  ]
  for (const [flags, env, expected] of cases) {
    t.match(mergeSettings(readFlags(flags)), expected, flags.join(' '))
    t.match(mergeSettings(readEnvironment(env)), expected, JSON.stringify(env))
  }
})

t.test(
  'flags take precedence over MX_API_*, MX_*, the file and the default, in this order',
  async (t) => {
    const file = new Map([['workers', { source: 'mx.yaml', values: ['2'] }]] as const)
    const workers = (flags: string[], env: Record<string, string>) =>
      mergeSettings(readFlags(flags), readEnvironment(env), file).workers
    t.equal(workers(['--workers=5'], { MX_API_WORKERS: '4', MX_WORKERS: '3' }), 5)
    t.equal(workers([], { MX_API_WORKERS: '4', MX_WORKERS: '3' }), 4)
    t.equal(workers([], { MX_WORKERS: '3' }), 3)
    t.equal(workers([], { MX_WORKERS: '' }), 2, 'an empty variable counts as unset')
    t.equal(mergeSettings(readFlags([]), readEnvironment({})).workers, 1)
  },
)

t.test('MX_AUTH_DISABLE_ADMIN is an alias of MX_DISABLE_ADMIN', async (t) => {
  const disabled = (env: Record<string, string>) =>
    mergeSettings(readFlags([], 'server'), readEnvironment(env, 'server')).disableAdmin
  t.equal(disabled({}), false)
  t.equal(disabled({ MX_DISABLE_ADMIN: 'true' }), true)
  t.equal(disabled({ MX_AUTH_DISABLE_ADMIN: 'true' }), true)
  t.equal(disabled({ MX_AUTH_DISABLE_ADMIN: 'true', MX_DISABLE_ADMIN: 'false' }), false)
  t.same(findMisspelt({ MX_AUTH_DISABLE_ADMIN: 'true' }), [])
})

t.test('rejects an unknown or incomplete flag with a suggestion', async (t) => {
  const cases: [flags: string[], problem: RegExp][] = [
    [['--wokers=2'], /^unknown flag --wokers, did you mean --workers\? See 'mx api --help'$/],
    [
      ['--drain-timeuot', '2s'],
      /^unknown flag --drain-timeuot, did you mean --drain_timeout\? See 'mx api --help'$/,
    ],
    [['--zzzzzzz'], /^unknown flag --zzzzzzz\. See 'mx api --help'$/],
    [['-x'], /^unknown flag -x\. See 'mx api --help'$/],
    [['--address'], /^--address needs a value: --address=<host:port or unix:\/path>$/],
    [['--address', '--workers=1'], /^--address needs a value/],
    [['--address='], /^--address needs a value/],
    [['--workers=1', '--workers=2'], /^--workers must not be repeated$/],
    [['greeter'], /^unexpected argument "greeter"$/],
    [['--workers=1', '2'], /^unexpected argument "2"$/],
  ]
  for (const [flags, problem] of cases)
    t.match(listProblems(() => readFlags(flags))[0], problem, flags.join(' '))
})

t.test('rejects an invalid value with its source, the expected form and the value', async (t) => {
  const cases: [flags: string[], problem: RegExp][] = [
    [['--address=8080'], /^--address must be host:port or :port.*, got "8080"$/],
    [['--address=:65536'], /^--address must be .* got ":65536"$/],
    [['--address=a b:80'], /^--address must be /],
    [
      ['--handler=prxy'],
      /^--handler must be one of meta, api, rpc, proxy, event, web, got "prxy", did you mean proxy\?$/,
    ],
    [['--workers=0'], /^--workers must be a whole number from 1 to 256, or auto, got "0"$/],
    [['--workers=1.5'], /^--workers must be /],
    [['--namespace=a..b'], /^--namespace must be names joined by dots/],
    [['--max_body=5xb'], /^--max_body must be a size/],
    [['--connect_timeout=0'], /^--connect_timeout must be a duration of at least 1ms/],
    [
      ['--trusted_proxies=10.0.0.0/33'],
      /^--trusted_proxies must be address ranges such as .*"10\.0\.0\.0\/33"$/,
    ],
    [
      ['--trusted_proxies_header=x-real-ip'],
      /^--trusted_proxies_header must be one of x-forwarded-for, forwarded, got "x-real-ip"$/,
    ],
    [
      ['--drain_delay=none'],
      /^--drain_delay must be a duration of at most 24d, such as 5s, got "none"$/,
    ],
    [['--admin_address=off'], /^--admin_address must be none, host:port or :port, .* got "off"$/],
    [['--cors_origins=https://a.test/'], /^--cors_origins must be an origin/],
    [['--web_origins=*'], /^--web_origins must be any, same-host, or origins such as/],
    [['--web_origins=any,https://a.test'], /^--web_origins must be any, same-host, or/],
    [['--hosts=a.test:80'], /^--hosts must be any, local, or names such as app.example.com/],
    [['--hosts=any,a.test', '--hosts=*'], /^--hosts must be any, local, or names/],
    [['--backend=greeter'], /^--backend .*greeter/],
    [['--balance=rand'], /^--balance .*rand/],
    [['--enable_tls=maybe'], /^--enable_tls must be true or false, got "maybe"$/],
    [['--enable_tls'], /^--enable_tls: TLS certificate and key files not specified/],
    [
      ['--tls_cert_file=a', '--tls_key_file=a'],
      /^--tls_cert_file has no effect without enable_tls/,
    ],
    [['--tls_key_file=a'], /^--tls_key_file has no effect without enable_tls/],
    [
      ['--enable_tls', '--tls_cert_file=a,b', '--tls_key_file=a'],
      /^--tls_cert_file: .* the same number of files, got 2 and 1$/,
    ],
  ]
  for (const [flags, problem] of cases)
    t.match(listProblems(() => mergeSettings(readFlags(flags)))[0], problem, flags.join(' '))
  t.match(
    listProblems(() => mergeSettings(readEnvironment({ MX_WORKERS: 'x' })))[0],
    /^MX_WORKERS must be/,
  )
  t.same(
    listProblems(() => mergeSettings(readFlags(['--enable_tls=false', '--tls_cert_file=a']))),
    [],
    'the files may stay configured while TLS is off',
  )
  const both = listProblems(() => mergeSettings(readFlags(['--workers=x', '--max_body=y'])))
  t.equal(both.length, 2, 'all problems are reported')
})

t.test(
  'a misspelled MX_* variable is reported with a suggestion, other variables are ignored',
  async (t) => {
    const env = {
      MX_BALANCEE: 'random',
      MX_API_MAX_BODDY: '1kb',
      MX_SERVER_ADRESS: ':1',
      MX_SERVER_ADDRESS: ':1',
      MX_SERVER_ID: 'a',
      MX_BALANCE: 'p2c',
      MX_STORE_ADDRESS: 'db:5432',
      MX_REGISTRY_TLS_CA: 'ca.pem',
      MX_HOME: '/',
      PATH: '/',
    }
    const { store, registry } = SETTINGS
    t.same(findMisspelt(env), [
      `unknown variable MX_STORE_ADDRESS: the address is part of MX_STORE (${store.placeholder})`,
      `unknown variable MX_REGISTRY_TLS_CA: certificates and keys are part of MX_REGISTRY (${registry.placeholder})`,
      'unknown variable MX_BALANCEE, did you mean MX_BALANCE?',
      'unknown variable MX_API_MAX_BODDY, did you mean MX_API_MAX_BODY?',
      'unknown variable MX_SERVER_ADRESS, did you mean MX_SERVER_ADDRESS?',
    ])
  },
)

t.test('auth is none or the URL of a platform', async (t) => {
  const read = (text: string) => mergeSettings(readFlags([`--auth=${text}`])).auth
  for (const text of ['none', 'mx://localhost:8081', 'mxs://[::1]:8081'])
    t.equal(read(` ${text} `), text)
  for (const text of ['foo', 'localhost:8081', 'mx://a', 'mx://a:0', 'mxs://a:65536'])
    t.same(
      listProblems(() => read(text)),
      [
        `--auth must be none, mx://host:port or mxs://host:port, with a port from 1 to 65535, got ${JSON.stringify(text)}`,
      ],
    )
})

t.test('registry is a name or a URL, and an error about it redacts userinfo', async (t) => {
  const read = (text: string) => mergeSettings(readFlags([`--registry=${text}`])).registry
  for (const text of [
    'static',
    'memory',
    'kubernetes',
    'mx://127.0.0.1:8081',
    'mxs://[::1]:8081',
    'consul://127.0.0.1:8500?dc=eu',
    'consuls://token@consul.internal',
  ])
    t.equal(read(` ${text} `), text)
  const invalid = {
    'mx://localhost':
      /--registry must be static, memory, mx:\/\/host:port, .*, got "mx:\/\/localhost"$/,
    kubernets: /got "kubernets", did you mean kubernetes\?$/,
    'redis://secret@a:1': /got "redis:\/\/\[hidden\]@a:1"$/,
    'consul://a:1?token=b': /^--registry cannot be used: unknown parameter "token"/,
    'consul://a:0': /^--registry cannot be used: the port of consul:\/\/host:port must be from 1/,
  }
  for (const [text, message] of Object.entries(invalid))
    t.match(
      listProblems(() => read(text)),
      [message],
    )
  const fromEnvironment = listProblems(() =>
    mergeSettings(readEnvironment({ MX_REGISTRY: 'nope' })),
  )
  t.match(fromEnvironment, [/^MX_REGISTRY must be static, memory/])
})
