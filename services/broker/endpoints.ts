import type { Message } from '../../core/contracts/broker.ts'
import { Type } from '../../core/schema.ts'
import type { CheckedBroker } from '../../domain/broker/broker.ts'
import { createNullProto } from '../../lib/object/null-proto.ts'
import type { AccountChecks } from '../../sdk/auth/account-checks.ts'
import type { Context } from '../../sdk/context.ts'
import { badRequest } from '../../sdk/errors.ts'
import { type Endpoints, endpoint } from '../../sdk/service/endpoint.ts'
import { Entry, WhenSlowChoice } from './messages.ts'
import { toBrokerNamespace, toEffective } from './namespaces.ts'
import type { Subscriptions } from './subscriptions.ts'

/** Prefix of headers that only the platform may set. */
const PLATFORM = 'mx-'
/** Maximum number of messages in a report. */
const MAX_REPORTED = 1e9

/** Endpoints of the broker for members of a namespace (reference 5.1). */
export function createBrokerEndpoints(
  broker: CheckedBroker,
  subscriptions: Subscriptions,
  { mustBeMember, mustBeOperator }: AccountChecks,
): Endpoints {
  const namespaceOf = (ctx: Context, id: string): string => {
    const namespace = toBrokerNamespace(ctx, id)
    mustBeMember(ctx, namespace, id)
    return namespace
  }
  return {
    publish: endpoint({
      description: 'Publishes a message to the subscribers of a topic.',
      idempotent: false,
      request: Type.Object({
        topic: Type.String({ default: '', description: 'Topic of the namespace.' }),
        message: Type.Optional(Entry),
      }),
      response: Type.Object({}),
      async handle({ topic, message }, ctx) {
        const id = idOf(ctx)
        const namespace = namespaceOf(ctx, id)
        if (topic === '') throw badRequest(id, 'Missing topic')
        if (message === undefined) throw badRequest(id, 'Missing message')
        const effective = toEffective(namespace, topic, 'request.topic', id)
        const headers = toHeaders(message.header)
        headers['mx-topic'] = `${namespace}.${topic}`
        headers['mx-namespace'] = namespace
        await broker.publish(effective, { headers, body: message.body })
        return {}
      },
    }),

    subscribe: endpoint({
      description:
        'Streams the messages published to a topic. The stream starts once the subscription is active.',
      request: Type.Object({
        topic: Type.String({ default: '', description: 'Topic of the namespace.' }),
        queue: Type.String({
          default: '',
          description: 'Queue group: each message goes to one subscriber of the same queue.',
        }),
        when_slow: WhenSlowChoice,
      }),
      response: Entry,
      stream: 'server',
      handle({ topic, queue, when_slow }, ctx) {
        const id = idOf(ctx)
        const namespace = namespaceOf(ctx, id)
        if (topic === '') throw badRequest(id, 'Missing topic')
        const effective = toEffective(namespace, topic, 'request.topic', id)
        const choice = {
          ...(queue !== '' && { queue: toEffective(namespace, queue, 'request.queue', id) }),
          ...(when_slow !== '' && { whenSlow: when_slow }),
        }
        return toEntries(subscriptions.open(namespace, effective, choice, id, () => ctx.start()))
      },
    }),

    reportDropped: endpoint({
      description: 'Reports messages dropped by the queue of a subscriber.',
      idempotent: false,
      request: Type.Object({
        topic: Type.String({ default: '', description: 'Topic of the namespace.' }),
        count: Type.Integer({
          minimum: 1,
          maximum: MAX_REPORTED,
          description: 'Messages dropped since the last report.',
        }),
      }),
      response: Type.Object({}),
      handle({ topic, count }, ctx) {
        const id = idOf(ctx)
        const namespace = namespaceOf(ctx, id)
        broker.reportDropped(toEffective(namespace, topic, 'request.topic', id), count)
        return {}
      },
    }),

    stats: endpoint({
      readOnly: true,
      description: 'Statistics about subscribers in all namespaces since this server started.',
      request: Type.Object({}),
      response: Type.Object({
        subscribers: Type.Integer({ description: 'Current subscriptions through calls.' }),
        dropped: Type.Integer({
          description: 'Messages this server dropped for slow subscribers.',
        }),
        dropped_remotely: Type.Integer({
          description: 'Messages that slow subscribers reported as dropped from their queues.',
        }),
        ended: Type.Integer({
          description: 'Subscriptions ended because the subscriber was too slow.',
        }),
      }),
      handle(_, ctx) {
        mustBeOperator(ctx, idOf(ctx))
        return {
          subscribers: subscriptions.count(),
          dropped: broker.dropped,
          dropped_remotely: broker.droppedRemotely,
          ended: broker.ended,
        }
      },
    }),
  }
}

/**
 * Returns the id used in errors (reference 6), such as `broker.Broker.Publish`, without the
 * caller's namespace prefix.
 */
function idOf(ctx: Context): string {
  return `broker.${ctx.endpoint}`
}

/** Removes headers that only the platform may set, because receivers trust them. */
function toHeaders(header: Message['headers']): Record<string, string> {
  const headers: Record<string, string> = createNullProto()
  for (const [name, value] of Object.entries(header))
    if (!name.toLowerCase().startsWith(PLATFORM)) headers[name] = value
  return headers
}

function toEntries(messages: AsyncIterableIterator<Message>) {
  const toEntry = ({ headers, body }: Message) => ({ header: headers, body })
  return {
    async next() {
      const { done, value } = await messages.next()
      return done === true ? { done, value: undefined } : { done: false, value: toEntry(value) }
    },
    async return() {
      await messages.return?.()
      return { done: true, value: undefined }
    },
    [Symbol.asyncIterator]() {
      return this
    },
  } as AsyncIterableIterator<ReturnType<typeof toEntry>>
}
