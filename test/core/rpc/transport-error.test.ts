import t from 'tap'
import { toTransportError } from '../../../core/rpc/transport-error.ts'

t.test(
  'lost connections fail with 502, timeouts with 408, stopped or full nodes with 503, full ones with Retry-After',
  async (t) => {
    const prefix = 'no connection to 10.0.0.1:9000'
    const codes = {
      connect: 502,
      foreign: 502,
      closed: 502,
      unsent: 502,
      stopped: 503,
      timeout: 408,
      full: 503,
    } as const
    for (const [kind, code] of Object.entries(codes) as [keyof typeof codes, number][]) {
      const error = toTransportError('greeter', kind, prefix)
      t.match(error.toBody(), { Id: 'greeter', Code: code }, kind)
      if (kind === 'full') t.strictSame(error.headers, ['retry-after', '1'])
      else {
        t.notMatch(error.message, /10\.0\.0\.1/, 'addresses are not sent to clients')
        t.equal(error.cause, prefix)
      }
    }
  },
)

t.test('the error names the peer', async (t) => {
  const texts = (['connect', 'foreign', 'closed'] as const).map(
    (kind) => toTransportError('greeter', kind, 'connect ECONNREFUSED', 'the RPC proxy').message,
  )
  t.strictSame(texts, [
    'bad gateway: the RPC proxy refused the connection',
    'bad gateway: the RPC proxy does not speak the call protocol: another program listens on its address',
    'bad gateway: the RPC proxy closed the connection',
  ])
})
