import type { Message } from '../../core/contracts/broker.ts'
import { type TUnsafe, Type } from '../../core/schema.ts'
import { type OverflowPolicy, WHEN_SLOW } from '../../domain/broker/delivery.ts'
import { Bytes } from '../../sdk/schema/schema-types.ts'

/** A broker message (specification: Broker message). */
export interface MessageEntry {
  /** Header values with one character per byte. */
  readonly header: Message['headers']
  readonly body: Uint8Array
}

const Fields = {
  header: Type.Record(Type.String(), Type.String(), {
    default: {},
    description: 'Headers, including content-type.',
  }),
  body: Bytes({ default: '', description: 'Bytes; base64 in JSON.' }),
}

/** Message sent by publishers and to subscribers. */
export const Entry: TUnsafe<MessageEntry> = Type.Unsafe(Type.Object(Fields))

export const WhenSlowChoice: TUnsafe<OverflowPolicy | ''> = Type.Unsafe(
  Type.Union(
    ['', ...WHEN_SLOW].map((choice) => Type.Literal(choice)),
    {
      default: '',
      description:
        'Overflow policy for a slow subscriber: drop new messages, drop the oldest pending messages, or end the subscription. Default: drop-new.',
    },
  ),
)
