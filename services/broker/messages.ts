import type { Message } from '../../core/contracts/broker.ts'
import { type TUnsafe, Type } from '../../core/schema.ts'
import { type OverflowPolicy, WHEN_SLOW } from '../../domain/broker/delivery.ts'
import { Bytes } from '../../sdk/schema/schema-types.ts'

/** A message as it is sent (specification: Broker message). */
export interface MessageEntry {
  /** One character a byte, as metadata. */
  readonly header: Message['headers']
  readonly body: Uint8Array
}

const Fields = {
  header: Type.Record(Type.String(), Type.String(), {
    default: {},
    description: 'Named values, content-type among them.',
  }),
  body: Bytes({ default: '', description: 'Bytes; base64 in JSON.' }),
}

/** A message, of whoever publishes and of whoever subscribed. */
export const Entry: TUnsafe<MessageEntry> = Type.Unsafe(Type.Object(Fields))

export const WhenSlowChoice: TUnsafe<OverflowPolicy | ''> = Type.Unsafe(
  Type.Union(
    ['', ...WHEN_SLOW].map((choice) => Type.Literal(choice)),
    {
      default: '',
      description:
        'When messages come faster than they are taken: without those that come, without those that wait longest, or not at all any more. drop-new where empty.',
    },
  ),
)
