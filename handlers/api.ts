import { toApiRequest } from '../core/api/request.ts'
import { toApiReply } from '../core/api/response.ts'
import type { Handler } from '../core/chain.ts'
import { GatewayError } from '../core/errors.ts'
import { parseJson } from '../core/request/json/json.ts'
import { formatContext } from '../core/rpc/context-headers.ts'
import { type CallLimits, GatewayCall } from '../core/rpc/gateway-call.ts'

export type ApiOptions = CallLimits

/**
 * Calls the endpoint with the HTTP request as an `api.Request`. The result is an `api.Response` with status, headers
 * and body (specification: `api` handler).
 */
export default function api(options: ApiOptions): Handler {
  return { name: 'api', handle: (x) => new ApiCall(x, options).collect() }
}

class ApiCall extends GatewayCall {
  protected begin(body: Uint8Array): void {
    const { x } = this
    this.body = JSON.stringify(toApiRequest(x, body))
    // The content type of the HTTP request is part of the document.
    x.headers.set('content-type', 'application/json')
    this.metadata = formatContext(x)
    this.dispatch()
  }

  override onReply(_metadata: string, body: Uint8Array): void {
    if (this.isSettled) return
    this.answered()
    this.done()
    const { x, service } = this
    try {
      const { status, headers, body: content } = toApiReply(parse(body, service), service)
      this.bind(headers)
      x.send(status, headers, content)
    } catch (error) {
      const failure = GatewayError.from(error, service)
      x.failure = failure.message
      x.abortWith(failure)
    }
  }
}

/** @throws {GatewayError} 502 for invalid JSON. */
function parse(body: Uint8Array, service: string): unknown {
  if (body.length === 0) return {}
  try {
    return parseJson(body, 'response', service)
  } catch (error) {
    throw notJson(service, error)
  }
}

function notJson(service: string, cause: unknown): GatewayError {
  return new GatewayError(service, 502, 'the response is not an api.Response: it must be JSON', {
    cause,
  })
}
