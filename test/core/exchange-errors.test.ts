import t from 'tap'
import type { Plugin } from '../../core/chain.ts'
import { type ErrorPage, GatewayError } from '../../core/errors.ts'
import { compileChain } from '../../core/plugin/compile-chain.ts'
import { createTestExchange } from '../../sdk/testing.ts'

const ERROR = new GatewayError('shop', 502, 'bad gateway')
const PAGE: ErrorPage = { contentType: 'text/html', body: '<p>sorry' }

function startExchange(...plugins: Plugin[]) {
  const x = createTestExchange()
  const faults: (string | undefined)[] = []
  const chain = compileChain(
    plugins,
    () => {},
    () => {},
  )
  x.begin(
    chain,
    () => {},
    (_, __, stage) => faults.push(`${stage?.plugin} ${stage?.hook}`),
  )
  return { x, faults }
}

t.test('the last plugin with a body for an error replaces the standard one', async (t) => {
  const { x } = startExchange(
    { name: 'first', onError: () => ({ ...PAGE, body: 'first' }) },
    { name: 'second', onError: (_, { code }) => (code === 502 ? PAGE : undefined) },
    { name: 'third', onError: () => undefined },
    { name: 'status', onReply: ({ replyHeaders }) => replyHeaders.set('x-reply', '1') },
  )
  x.fail(ERROR)
  t.strictSame([x.status, x.body, x.finished], [502, '<p>sorry', true])
  t.equal(x.replyHeaders.get('content-type'), 'text/html')
  t.equal(x.replyHeaders.get('x-reply'), '1')
})

t.test('waits for a body that arrives later, and ignores other responses until then', async (t) => {
  let resolve: (page: ErrorPage | undefined) => void = () => {}
  const { x } = startExchange({
    name: 'late',
    onError: () =>
      new Promise<ErrorPage | undefined>((found) => {
        resolve = found
      }),
  })
  x.fail(ERROR)
  t.strictSame([x.answered, x.finished], [true, false])
  x.reply(200, 'other')
  x.fail(new GatewayError('shop', 500, 'other'))
  resolve(PAGE)
  await x.done
  t.strictSame([x.status, x.body], [502, '<p>sorry'])
})

t.test(
  'a second failure while the body is awaited sends the standard body immediately',
  async (t) => {
    const { x } = startExchange({ name: 'never', onError: () => new Promise(() => {}) })
    x.abortWith(ERROR)
    x.abortWith(new GatewayError('go.mx.api', 504, 'time limit'))
    t.strictSame([x.status, x.finished], [502, true])
    t.match(JSON.parse(x.body), { Detail: 'bad gateway' })
  },
)

t.test('sends nothing to a client that disconnects before the body arrives', async (t) => {
  let resolve: (page: ErrorPage) => void = () => {}
  const { x } = startExchange({
    name: 'late',
    onError: () =>
      new Promise<ErrorPage>((found) => {
        resolve = found
      }),
  })
  x.fail(ERROR)
  x.disconnect()
  resolve(PAGE)
  await new Promise(setImmediate)
  t.strictSame([x.aborted, x.chunks.length], [true, 0])
})

t.test('a hook that fails is reported, and the standard body is sent', async (t) => {
  const thrown = startExchange({
    name: 'thrower',
    onError: () => {
      throw new Error('fault')
    },
  })
  thrown.x.fail(ERROR)
  t.match(JSON.parse(thrown.x.body), { Code: 502 })
  t.strictSame(thrown.faults, ['thrower onError'])
  const rejected = startExchange({
    name: 'rejecter',
    onError: () => Promise.reject(new Error('fault')),
  })
  rejected.x.fail(ERROR)
  await rejected.x.done
  t.match(JSON.parse(rejected.x.body), { Code: 502 })
  t.strictSame(rejected.faults, ['rejecter onError'])
})
