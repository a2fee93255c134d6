import type { EventTopic } from '../../core/contracts/events.ts'
import { Type } from '../../core/schema.ts'
import type { Events } from '../../domain/events/events.ts'
import type { AccountChecks } from '../../sdk/auth/account-checks.ts'
import type { Context } from '../../sdk/context.ts'
import { badRequest, notImplemented } from '../../sdk/errors.ts'
import { toNamespace } from '../../sdk/namespace.ts'
import { type Endpoints, endpoint } from '../../sdk/service/endpoint.ts'
import { consume } from './consumption.ts'
import {
  type ConsumeMessage,
  Consuming,
  DeliveryView,
  EventView,
  Group,
  Limit,
  MetadataInput,
  Milliseconds,
  Offset,
  Payload,
  Seconds,
  Since,
  Topic,
  toMessage,
  toTimeMs,
} from './messages.ts'
import { hasAuditEvents, rejectReserved } from './reserved.ts'
import { GroupView, TopicView, toGroupMessage, toTopicMessage, withGroups } from './topics.ts'

/** What the handler `Stream` offers (reference 5.2) to services of the namespace; deleting takes an administrator. */
export function createStreamEndpoints(events: Events, checks: AccountChecks): Endpoints {
  const { namespaceOf, topicOf, ownTopicOf, mustBeReadable } = createPlaces(checks)
  const mustAdminister = (ctx: Context): void =>
    checks.mustBeAdmin(ctx, toNamespace(ctx, idOf(ctx)), idOf(ctx))
  return {
    publish: endpoint({
      description: 'Puts an event behind those of its topic. Answered once it is kept.',
      idempotent: false,
      request: Type.Object({
        topic: Topic,
        metadata: MetadataInput,
        payload: Payload,
        timestamp: Seconds,
        timestamp_ms: Milliseconds,
      }),
      response: Type.Object({ id: Type.String(), sequence: Type.Integer() }),
      async handle({ topic, metadata, payload, timestamp, timestamp_ms }, ctx) {
        if (payload.length > events.maxPayloadBytes)
          throw badRequest(
            idOf(ctx),
            `request.payload must be at most ${events.maxPayloadBytes} bytes, got ${payload.length}`,
          )
        const timestampMs = toTimeMs(timestamp, timestamp_ms)
        const published = await events.publish(ownTopicOf(topic, ctx), {
          payload,
          metadata,
          ...(timestampMs !== undefined && { timestampMs }),
        })
        return { id: published.id, sequence: published.sequence }
      },
    }),

    consume: endpoint({
      description:
        'Events of a topic, as they come. The first message says which; those that follow, what became of them.',
      request: Consuming,
      response: DeliveryView,
      stream: 'both',
      handle: (requests, ctx) =>
        consume({
          events,
          requests: requests as AsyncIterable<ConsumeMessage>,
          namespace: namespaceOf(ctx),
          mustBeReadable: (topic) => mustBeReadable(topic, ctx),
          id: idOf(ctx),
          onStart: () => ctx.start(),
        }),
    }),

    topics: endpoint({
      readOnly: true,
      description:
        'The topics of the namespace: those that have, or had, events, or groups; or one of them.',
      request: Type.Object({
        topic: Topic,
        groups: Type.Boolean({
          default: false,
          description: 'Whether their groups are told, too, and how far they are behind.',
        }),
      }),
      response: Type.Object({ topics: Type.Array(TopicView) }),
      async handle({ topic, groups }, ctx) {
        const topics = await events.listTopics(namespaceOf(ctx))
        const asked = topic === '' ? topics : topics.filter((one) => one.topic === topic)
        return {
          topics: groups ? await withGroups(events, asked, ctx.signal) : asked.map(toTopicMessage),
        }
      },
    }),

    groups: endpoint({
      readOnly: true,
      description: 'The groups of a topic that are kept.',
      request: Type.Object({ topic: Topic }),
      response: Type.Object({ groups: Type.Array(GroupView) }),
      async handle({ topic }, ctx) {
        const groups = await events.listGroups(topicOf(topic, ctx))
        return { groups: groups.map(toGroupMessage) }
      },
    }),

    deleteGroup: endpoint({
      description: 'Forgets a group; one that is not there does not matter. Its consumers get 410.',
      request: Type.Object({ topic: Topic, group: Group }),
      response: Type.Object({}),
      async handle({ topic, group }, ctx) {
        mustAdminister(ctx)
        if (group === '') throw badRequest(idOf(ctx), 'Missing group')
        await events.deleteGroup(topicOf(topic, ctx), group)
        return {}
      },
    }),

    deleteTopic: endpoint({
      description:
        'Removes a topic with its events and groups; one that is not there does not matter. Its consumers get 410.',
      request: Type.Object({ topic: Topic }),
      response: Type.Object({}),
      async handle({ topic }, ctx) {
        mustAdminister(ctx)
        await events.deleteTopic(ownTopicOf(topic, ctx))
        return {}
      },
    }),
  }
}

/** What the handler `Store` offers to services of the namespace. */
export function createStoreEndpoints(events: Events, checks: AccountChecks): Endpoints {
  const { topicOf } = createPlaces(checks)
  return {
    read: endpoint({
      readOnly: true,
      description: 'Events of a topic that are kept, in order, a page at a time.',
      request: Type.Object({
        topic: Topic,
        limit: Limit,
        offset: Offset,
        since: Since,
        since_ms: Milliseconds,
      }),
      response: Type.Object({
        events: Type.Array(EventView),
        next: Type.Optional(
          Type.Integer({ description: 'There are more: read again, with this offset.' }),
        ),
      }),
      async handle({ topic, limit, offset, since, since_ms }, ctx) {
        const sinceMs = toTimeMs(since, since_ms)
        const page = await events.read(topicOf(topic, ctx), {
          sequence: offset + 1,
          ...(limit > 0 && { limit }),
          ...(sinceMs !== undefined && { sinceMs }),
        })
        const told = page.events.map((event) => toMessage(topic, event))
        return page.next === undefined ? { events: told } : { events: told, next: page.next - 1 }
      },
    }),

    write: endpoint({
      description: 'Not offered: events are published.',
      handle(_, ctx) {
        throw notImplemented(idOf(ctx), 'events are written by Stream.Publish')
      },
    }),
  }
}

/** Reference 6: `events.Stream.Publish`, whatever namespace the caller put in front. */
function idOf(ctx: Context): string {
  return `events.${ctx.endpoint}`
}

/** What calls are about, once their callers were found to be services of the namespace. */
function createPlaces({ mustBeService, mustBeAdmin }: AccountChecks) {
  /** The audit has addresses and failed logins of everybody. @throws {GatewayError} 401 */
  const mustBeReadable = (topic: EventTopic, ctx: Context): void => {
    if (hasAuditEvents(topic)) mustBeAdmin(ctx, topic.namespace, idOf(ctx))
  }
  /** @throws {GatewayError} 400, 401, 403 */
  const namespaceOf = (ctx: Context): string => {
    const id = idOf(ctx)
    const namespace = toNamespace(ctx, id)
    mustBeService(ctx, namespace, id)
    return namespace
  }
  /** @throws {GatewayError} as above. */
  const topicOf = (topic: string, ctx: Context): EventTopic => {
    const namespace = namespaceOf(ctx)
    if (topic === '') throw badRequest(idOf(ctx), 'Missing topic')
    mustBeReadable({ namespace, topic }, ctx)
    return { namespace, topic }
  }
  /** One that may be changed. @throws {GatewayError} as above. */
  const ownTopicOf = (topic: string, ctx: Context): EventTopic => {
    const found = topicOf(topic, ctx)
    rejectReserved(found, idOf(ctx))
    return found
  }
  return { namespaceOf, topicOf, ownTopicOf, mustBeReadable }
}
