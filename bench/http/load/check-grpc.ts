import { once } from 'node:events'
import { connect, type IncomingHttpHeaders } from 'node:http2'
import type { Scenario } from '../scenario.ts'

/**
 * Makes one call over HTTP/2, because the load generator checks only HTTP statuses and gRPC errors have status 200.
 *
 * @throws {Error} unless the call succeeds.
 */
export async function checkGrpc(url: string, { body }: Scenario): Promise<void> {
  const { origin, pathname } = new URL(url)
  const session = connect(origin, { rejectUnauthorized: false })
  try {
    const stream = session.request({
      ...{ ':method': 'POST', ':path': pathname, te: 'trailers' },
      'content-type': body!.type,
    })
    let fields: IncomingHttpHeaders = {}
    for (const event of ['response', 'trailers'])
      stream.on(event, (more: IncomingHttpHeaders) => {
        fields = { ...fields, ...more }
      })
    stream.end(body!.create())
    stream.resume()
    await once(stream, 'close')
    const { ':status': status, 'grpc-status': code, 'grpc-message': message } = fields
    if (Number(status) !== 200 || code !== '0')
      throw new Error(`status ${status}, grpc-status ${code}: ${message ?? ''}`)
  } finally {
    session.close()
  }
}
