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

/** Headers that belong to the platform. */
const PLATFORM = 'mx-'
/** Messages in one report. */
const MAX_REPORTED = 1e9

/** What the broker offers to members of the namespace (reference 5.1). */
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
      description: 'Hands a message to whoever has subscribed to the topic.',
      idempotent: false,
      request: Type.Object({
        topic: Type.String({ default: '', description: 'Of the namespace.' }),
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
        'Messages published to a topic from now on. The stream begins once none is missed.',
      request: Type.Object({
        topic: Type.String({ default: '', description: 'Of the namespace.' }),
        queue: Type.String({
          default: '',
          description: 'Of all subscribers that name the same, one gets a message.',
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
      description: 'Counts messages that the queue of a subscriber dropped.',
      idempotent: false,
      request: Type.Object({
        topic: Type.String({ default: '', description: 'Of the namespace.' }),
        count: Type.Integer({
          minimum: 1,
          maximum: MAX_REPORTED,
          description: 'Since the last report.',
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
      description: 'How subscribers of this server keep up, in all namespaces, since it started.',
      request: Type.Object({}),
      response: Type.Object({
        subscribers: Type.Integer({ description: 'Those who have subscribed by a call now.' }),
        dropped: Type.Integer({
          description: 'Messages this server dropped for slow subscribers.',
        }),
        dropped_remotely: Type.Integer({
          description:
            'Messages that slow subscribers dropped from their own queues, as they reported.',
        }),
        ended: Type.Integer({ description: 'Subscriptions that ended for being slow.' }),
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

/** Reference 6: `broker.Broker.Publish`, whatever namespace the caller put in front. */
function idOf(ctx: Context): string {
  return `broker.${ctx.endpoint}`
}

/** A caller's headers, without those that only the platform writes: who reads them believes them. */
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
