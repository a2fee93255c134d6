import t from 'tap'
import type { PurgeSelection } from '../../../core/contracts/response-caches.ts'
import { createCacheEndpoints } from '../../../platform/admin/cache-endpoints.ts'
import { createLog } from '../../../platform/process/log.ts'

const TOKEN = 'a long enough token'

t.test('purges stored responses with the admin token', async (t) => {
  const purged: PurgeSelection[] = []
  const open = (token: string, isStarted = true) => {
    const purge = (selection: PurgeSelection) => purged.push(selection)
    const handle = createCacheEndpoints(
      token,
      () => (isStarted ? purge : undefined),
      createLog('silent'),
    )
    return async (method: string, url: string, authorization = `Bearer ${TOKEN}`) => {
      const request = { method, url, headers: { authorization } }
      const { status, text } = await handle(request as never, url.split('?')[0]!)
      return { status, body: JSON.parse(text) }
    }
  }
  const send = open(TOKEN)
  t.match(await send('POST', '/cache/purge?path=/a*', ''), { status: 401 })
  t.match(await open('')('POST', '/cache/purge?path=/a'), { status: 404 })
  t.match(await open(TOKEN, false)('POST', '/cache/purge?path=/a'), { status: 503 })
  t.match(await send('GET', '/cache/purge?path=/a'), { status: 405 })
  t.match(await send('POST', '/cache'), { status: 404 })
  t.match(await send('POST', '/cache/purge'), { status: 400 })
  t.match(await send('POST', '/cache/purge?paths=/a'), { status: 400, body: { Detail: /paths/ } })
  t.strictSame(purged, [])
  t.match(await send('POST', '/cache/purge?path=/a*&origin=HTTP://A'), { body: { removed: 1 } })
  t.match(purged[0], { path: '/a*', origin: 'http://a', group: undefined })
  t.match(await send('POST', '/cache/purge?all=true'), { status: 200 })
})
