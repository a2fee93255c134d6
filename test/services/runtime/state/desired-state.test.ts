import { randomBytes } from 'node:crypto'
import t from 'tap'
import { parseSecretKey } from '../../../../services/config/secrets/secret-key.ts'
import { createSecrets } from '../../../../services/runtime/secrets.ts'
import {
  needsNoBuild,
  openVariables,
  toDesiredState,
} from '../../../../services/runtime/state/desired-state.ts'
import { NO_OPTIONS } from '../parts.ts'

const KEY = { namespace: 'mx', name: 'helloworld', version: 'latest' }
const STORE_KEY = { namespace: 'mx', key: 'service:mx:helloworld:latest', what: 'secrets' } as const
const secrets = createSecrets(parseSecretKey(randomBytes(32).toString('base64'), 'key'))

t.test('retains omitted options and merges variables in an update', async (t) => {
  const first = toDesiredState(KEY, { ...NO_OPTIONS, env: ['A=1', 'B=x=y'], instances: 2 }, secrets)
  t.match(first, { env: { A: '1', B: 'x=y' }, instances: 2, command: [] })
  const next = toDesiredState(
    KEY,
    { ...NO_OPTIONS, env: ['B=', 'C=3'], args: ['-v'] },
    secrets,
    first,
  )
  t.same(next.env, { A: '1', B: '', C: '3' })
  t.match(next, { instances: 2, args: ['-v'] })
})

t.test('encrypts credentials, and secrets by name', async (t) => {
  const input = { ...NO_OPTIONS, secrets: { TOKEN: 's3cret', KEY: 'a' }, credentials: 't0ken' }
  const first = toDesiredState(KEY, input, secrets)
  t.notMatch(JSON.stringify(first), /s3cret|t0ken/)
  const next = toDesiredState(KEY, { ...NO_OPTIONS, secrets: { KEY: 'b' } }, secrets, first)
  t.same(openVariables(secrets.open(STORE_KEY, next.secrets)), { TOKEN: 's3cret', KEY: 'b' })
  t.equal(next.credentials, first.credentials)
})

t.test('rejects secrets without a key and reports the field', async (t) => {
  const none = createSecrets(undefined)
  t.throws(() => toDesiredState(KEY, { ...NO_OPTIONS, secrets: { A: 'b' } }, none), {
    ...{ code: 400, message: /^request\.options\.secrets cannot be stored/ },
  })
  t.throws(() => toDesiredState(KEY, { ...NO_OPTIONS, credentials: 'b' }, none), {
    ...{ code: 400, message: /^request\.options\.credentials/ },
  })
})

t.test('reports secrets of another key as an error', async (t) => {
  const other = createSecrets(parseSecretKey(randomBytes(32).toString('base64'), 'key'))
  const sealed = other.seal(STORE_KEY, 'x')
  t.throws(() => secrets.open(STORE_KEY, sealed), /config_secret_key has changed/)
})

t.test(
  'requires a build for a changed command, but not for changed variables and sizes',
  async (t) => {
    const first = toDesiredState(KEY, NO_OPTIONS, secrets)
    const change = (options: object) =>
      toDesiredState(KEY, { ...NO_OPTIONS, ...options }, secrets, first)
    t.ok(needsNoBuild(first, change({ env: ['A=1'], instances: 3, memory: 1e6 })))
    t.notOk(needsNoBuild(first, change({ command: ['node', 'other.js'] })))
    t.notOk(needsNoBuild(first, change({ entrypoint: 'other' })))
  },
)

t.test('drops the entrypoint of the previous source', async (t) => {
  const first = toDesiredState(KEY, { ...NO_OPTIONS, entrypoint: 'a' }, secrets)
  t.equal(toDesiredState(KEY, NO_OPTIONS, secrets, first, false).entrypoint, 'a')
  t.equal(toDesiredState(KEY, NO_OPTIONS, secrets, first, true).entrypoint, '')
})
