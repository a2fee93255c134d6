import t from 'tap'
import { testCalls } from '../../../contracts/calls.ts'
import { openCaller, openPort } from '../../../fixtures/rpc-proxy.ts'

for (const form of ['mx', 'http'] as const) {
  t.test(`${form}: calls`, async (t) => {
    testCalls(t, {
      open: async (t, dispatch) => openCaller(t, (await openPort(t, dispatch)).port, form),
      isFast: form === 'mx',
      // The window of a stream, or the socket buffers of this machine for the HTTP transport.
      maxBuffered: form === 'mx' ? 525 : 20_000,
    })
  })
}
