import t from 'tap'
import { NO_RETRY } from '../../../../core/upstream/retry/retry-options.ts'
import {
  limitSettings,
  readRegistrySettings,
} from '../../../../platform/config/services/registry-settings.ts'
import { readFlags } from '../../../../platform/settings/flags.ts'
import { mergeSettings } from '../../../../platform/settings/sources.ts'

t.test('reads settings of a service', async (t) => {
  const metadata = {
    owner: 'a',
    'mx/balance': 'least-conn',
    'mx/timeout.connect': '1s',
    'mx/timeout.response': '2s',
    'mx/timeout.idle': '3s',
    'mx/keep_alive': '4s',
    'mx/max_connection_age': 'none',
    'mx/host_header': 'shop.internal',
    'mx/policies': '{"retry":"off","health":"/healthz"}',
  }
  t.strictSame(
    readRegistrySettings(metadata, 'mx', (key) => t.fail(key)),
    {
      balance: 'least-conn',
      timeouts: { connect: 1000, response: 2000, idle: 3000 },
      keepAliveMs: 4000,
      maxConnectionAgeMs: Number.POSITIVE_INFINITY,
      host: { name: 'shop.internal' },
      policies: { retry: NO_RETRY, health: { type: 'http', path: '/healthz' } },
    },
  )
})

t.test('ignores invalid and unknown settings, and reports the expected form', async (t) => {
  const rows: [string, string, RegExp][] = [
    ['mx/timeout.response', '5', /^must be a duration.*without a unit/],
    ['mx/keep_alive', 'soon', /^must be a duration/],
    ['mx/balance', 'best', /^must be /],
    ['mx/host_header', 'a b', /^must be client, backend or a host such as shop\.internal/],
    ['mx/timeout.respose', '5s', /^is unknown, did you mean mx\/timeout\.response\?$/],
    ['mx/xyz', '1', /^is unknown; known: mx\/balance, mx\/timeout\.connect, /],
    ['mx/policies', 'retry: off', /^must be a JSON object of at most 4096 characters/],
    ['mx/policies', '[]', /^must be a JSON object/],
    ['mx/policies', '{"retry":[]}', /^retry must be an object or off, got \[\]/],
    ['mx/policies', '{"retry":{"on":{"a":{}}}}', /^unknown key "on\.a" of retry/],
    ['mx/policies', '{"health":{"path":"x"}}', /^path of health must begin with \//],
    ['mx/policies', '{"concurrency":{"limit":1}}', /^concurrency can only be set in mx\.yaml$/],
    ['mx/policies', '{"retry":{"attempts":0}}', /^attempts of retry must be/],
    ['mx/policies', '{"retries":1}', /^unknown key "retries"/],
    ['mx/policies', '{"health":{"port":22}}', /^health\.port and health\.body can only be set/],
    [
      'mx/policies',
      '{"health":{"interval":"999ms"}}',
      /^health\.interval and .* must be at least 1s/,
    ],
    ['mx/policies', '{"health":{"unhealthy_interval":"1ms"}}', /must be at least 1s/],
    ['mx/policies', '{"hedge":{"after":"25d"}}', /^after of hedge .* from 1ms to 24d/],
    ['mx/tls', '{}', /^is only allowed in mx\.yaml$/],
    ['mx/tls.insecure_skip_verify', 'true', /^is only allowed in mx\.yaml$/],
    ['mx/timeout.request', '1s', /^is only allowed in mx\.yaml$/],
  ]
  for (const [key, text, expected] of rows) {
    const problems: [string, string][] = []
    const result = readRegistrySettings(
      { [key]: text, 'mx/timeout.idle': '3s' },
      'mx',
      (...problem) => problems.push(problem),
    )
    t.match(problems, [[key, expected]], key)
    t.match(result, { timeouts: { idle: 3000 } }, 'the other settings apply')
    t.equal(result.host, undefined)
  }
})

t.test('services outside the default domain do not extend times of the gateway', async (t) => {
  const settings = mergeSettings(readFlags(['--reply_timeout=10s', '--keep_alive=4s']))
  const result = readRegistrySettings(
    {
      'mx/timeout.response': '1m',
      'mx/timeout.idle': '1s',
      'mx/keep_alive': '1h',
      'mx/balance': 'p2c',
    },
    'tenant',
  )
  t.equal(limitSettings(result, settings, 'mx'), result)
  t.match(limitSettings(result, settings, 'tenant'), {
    balance: 'p2c',
    timeouts: { connect: undefined, response: 10_000, idle: 1000 },
    keepAliveMs: 4000,
  })
})

t.test('services outside the default domain have no policies, which are not parsed', async (t) => {
  const problems: string[] = []
  const metadata = { 'mx/policies': '[[', 'mx/balance': 'p2c' }
  const result = readRegistrySettings(metadata, 'tenant', (_, problem) => problems.push(problem))
  t.match(result, { balance: 'p2c', policies: undefined })
  t.same(problems, ['is only allowed for services of namespace mx'])
})
