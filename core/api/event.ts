import type { Exchange } from '../exchange.ts'
import { CREDENTIALS } from '../http/credential-headers.ts'
import type { ApiEvent } from './messages.ts'
import { toHeaderValues, toPairs } from './pairs.ts'
import { encodeText } from './text.ts'

/** The event for an exchange, without credentials; `data` is its body or query. */
export function toApiEvent(
  x: Exchange,
  { name, id, timestamp }: Pick<ApiEvent, 'name' | 'id' | 'timestamp'>,
  data: Uint8Array,
): ApiEvent {
  const { text, encoding } = encodeText(data)
  return {
    name,
    id,
    timestamp,
    header: toPairs(toHeaderValues(x, CREDENTIALS)),
    data: text,
    ...(encoding !== undefined && { encoding }),
  }
}
