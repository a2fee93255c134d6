import t from 'tap'
import {
  createIdentity,
  denyAuthentication,
  type IdentityOptions,
} from '../../../core/auth/authentication-hooks.ts'
import { GatewayError } from '../../../core/errors.ts'
import { HeaderList } from '../../../core/http/headers.ts'
import { createTestExchange, runPlugin } from '../../../sdk/testing.ts'
import { createAccount } from '../../fixtures/auth-source.ts'

const SESSION = {
  ...{ account: createAccount(), id: 'one', issuedMs: 0, endsMs: Number.POSITIVE_INFINITY },
}

function create(options: Partial<IdentityOptions> = {}) {
  const identity = createIdentity({
    ...{ identify: () => undefined, required: true, detail: 'a key is needed', challenge: 'Key' },
    ...{ hide: (x) => x.headers.delete('x-key'), nowMs: Date.now, ...options },
  })
  return { name: 'key', ...identity }
}

t.test('an authenticated request passes, and its credentials are removed', async (t) => {
  const headers = { 'x-key': 'secret' }
  for (const identify of [() => SESSION, async () => SESSION]) {
    const { status, x } = await runPlugin(create({ identify }), { headers })
    t.equal(status, 200)
    t.equal(x.session, SESSION)
    t.notOk(x.headers.has('x-key'))
    const { x: other } = await runPlugin(create({ identify, hide: undefined }), { headers })
    t.ok(other.headers.has('x-key'), 'without hide the credentials are forwarded')
  }
})

t.test(
  'a request without credentials returns 401 with a challenge, or passes if credentials are optional',
  async (t) => {
    const { status, headers, body } = await runPlugin(create())
    t.equal(status, 401)
    t.equal(headers.get('www-authenticate'), 'Key')
    t.match(JSON.parse(body), { Id: 'test', Detail: 'a key is needed' })
    t.equal((await runPlugin(create({ required: false }))).status, 200)
  },
)

t.test('rejected credentials return 401, unless another plugin accepts the request', async (t) => {
  const failing = [
    () => {
      throw denyAuthentication('a', 'unknown key', 'Key')
    },
    () => Promise.reject(denyAuthentication('a', 'unknown key', 'Key')),
  ]
  for (const identify of failing)
    for (const required of [true, false]) {
      const plugin = create({ identify, required })
      const { status, body } = await runPlugin(plugin)
      t.equal(status, 401)
      t.match(JSON.parse(body), { Id: 'test', Detail: 'unknown key' })
      const accepting = create({ identify: () => SESSION })
      t.equal((await runPlugin([plugin, accepting])).status, 200)
      t.equal((await runPlugin([accepting, plugin])).status, 200)
    }
})

t.test(
  'malformed credentials return 400 even if another plugin accepts the request; other errors return 500',
  async (t) => {
    const malformed = create({
      identify: () => {
        throw new GatewayError('a', 400, 'twice')
      },
    })
    t.equal((await runPlugin([malformed, create({ identify: () => SESSION })])).status, 400)
    const faulty = create({ identify: () => Promise.reject(new TypeError('fault')) })
    t.equal((await runPlugin(faulty)).status, 500)
  },
)

t.test('a response that depends on authentication is private for caches', async (t) => {
  const reply = { headers: { 'cache-control': 'public' } }
  const control = async (options: Partial<IdentityOptions>) =>
    (await runPlugin(create(options), {}, { reply })).headers.get('cache-control')
  t.equal(await control({ identify: () => SESSION }), 'private')
  t.equal(await control({ identify: () => SESSION, required: false }), 'public')
  t.equal(await control({ identify: () => SESSION, required: false, hide: undefined }), 'private')
  t.equal(await control({ required: false }), 'public')
  const optional = create({ identify: () => SESSION, required: false })
  const { headers } = await runPlugin([optional, create()], {}, { reply })
  t.equal(
    headers.get('cache-control'),
    'private',
    'one plugin that requires credentials is sufficient',
  )
})

t.test('a stream is cut on review once its session is unknown', async (t) => {
  const sessions = new Set(['one'])
  const identity = create({ identify: () => SESSION, isKnown: ({ id }) => sessions.has(id) })
  t.teardown(() => identity.close?.())
  const x = createTestExchange()
  await identity.onRequest!(x)
  x.route = { service: 'app', endpoint: '' }
  const chain = { ...x.chain, onReply: [identity.onReply!], onDone: [identity.onDone!] }
  x.begin(
    chain,
    () => {},
    (error) => t.fail(String(error)),
  )
  x.start(200, new HeaderList(), -1)
  identity.review()
  t.notOk(x.finished)
  sessions.clear()
  identity.review()
  t.ok(x.wasCut)
})
