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
import { hasAuditEvents, rejectForged, rejectReserved } from './reserved.ts'
import { GroupView, TopicView, toGroupMessage, toTopicMessage, withGroups } from './topics.ts'

/**
 * Endpoints of the `Stream` handler (reference 5.2) for services of the namespace. Deleting requires an administrator.
 */
export function createStreamEndpoints(events: Events, checks: AccountChecks): Endpoints {
  const { namespaceOf, topicOf, writableTopicOf, publishedTopicOf, mustBeReadable } =
    createTopicAccess(checks)
  const mustAdminister = (ctx: Context): void =>
    checks.mustBeAdmin(ctx, toNamespace(ctx, idOf(ctx)), idOf(ctx))
  return {
    publish: endpoint({
      description: 'Appends an event to a topic. Returns once it is stored.',
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
        const published = await events.publish(publishedTopicOf(topic, ctx), {
          payload,
          metadata,
          ...(timestampMs !== undefined && { timestampMs }),
        })
        return { id: published.id, sequence: published.sequence }
      },
    }),

    consume: endpoint({
      description:
        'Streams the events of a topic. The first message selects the topic; further messages acknowledge events.',
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
        'Lists the topics in the namespace that have or had events or groups, or a single topic.',
      request: Type.Object({
        topic: Topic,
        groups: Type.Boolean({
          default: false,
          description: 'Include groups and their lag.',
        }),
      }),
      response: Type.Object({ topics: Type.Array(TopicView) }),
      async handle({ topic, groups }, ctx) {
        const topics = await events.listTopics(namespaceOf(ctx))
        const selected = topic === '' ? topics : topics.filter((each) => each.topic === topic)
        return {
          topics: groups
            ? await withGroups(events, selected, ctx.signal)
            : selected.map(toTopicMessage),
        }
      },
    }),

    groups: endpoint({
      readOnly: true,
      description: 'Lists the stored groups of a topic.',
      request: Type.Object({ topic: Topic }),
      response: Type.Object({ groups: Type.Array(GroupView) }),
      async handle({ topic }, ctx) {
        const groups = await events.listGroups(topicOf(topic, ctx))
        return { groups: groups.map(toGroupMessage) }
      },
    }),

    deleteGroup: endpoint({
      description: 'Deletes a group, if it exists. Its consumers fail with 410.',
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
        'Deletes a topic with its events and groups, if it exists. Its consumers fail with 410.',
      request: Type.Object({ topic: Topic }),
      response: Type.Object({}),
      async handle({ topic }, ctx) {
        mustAdminister(ctx)
        await events.deleteTopic(writableTopicOf(topic, ctx))
        return {}
      },
    }),
  }
}

/** Endpoints of the `Store` handler for services of the namespace. */
export function createStoreEndpoints(events: Events, checks: AccountChecks): Endpoints {
  const { topicOf } = createTopicAccess(checks)
  return {
    read: endpoint({
      readOnly: true,
      description: 'Reads the stored events of a topic in order, paginated.',
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
          Type.Integer({ description: 'Offset of the next page; absent on the last page.' }),
        ),
      }),
      async handle({ topic, limit, offset, since, since_ms }, ctx) {
        const sinceMs = toTimeMs(since, since_ms)
        const page = await events.read(topicOf(topic, ctx), {
          sequence: offset + 1,
          ...(limit > 0 && { limit }),
          ...(sinceMs !== undefined && { sinceMs }),
        })
        const views = page.events.map((event) => toMessage(topic, event))
        return page.next === undefined ? { events: views } : { events: views, next: page.next - 1 }
      },
    }),

    write: endpoint({
      description: 'Not supported: publish events instead.',
      handle(_, ctx) {
        throw notImplemented(idOf(ctx), 'events are written by Stream.Publish')
      },
    }),
  }
}

/**
 * Returns the id used in errors (reference 6), such as `events.Stream.Publish`, without the
 * caller's namespace prefix.
 */
function idOf(ctx: Context): string {
  return `events.${ctx.endpoint}`
}

/** Authorizes callers and returns the namespace or topic of a call. */
function createTopicAccess({ mustBeService, mustBeAdmin }: AccountChecks) {
  /**
   * Only operators may read the audit log, because it contains addresses and failed logins of all
   * callers.
   *
   * @throws {GatewayError} 401
   */
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
  const topicOf = (topic: string, ctx: Context): EventTopic => {
    const namespace = namespaceOf(ctx)
    if (topic === '') throw badRequest(idOf(ctx), 'Missing topic')
    mustBeReadable({ namespace, topic }, ctx)
    return { namespace, topic }
  }
  /** Returns a topic that may be changed. @throws {GatewayError} 400, 401, 403 */
  const writableTopicOf = (topic: string, ctx: Context): EventTopic => {
    const eventTopic = topicOf(topic, ctx)
    rejectReserved(eventTopic, idOf(ctx))
    return eventTopic
  }
  const publishedTopicOf = (topic: string, ctx: Context): EventTopic => {
    const eventTopic = writableTopicOf(topic, ctx)
    rejectForged(eventTopic, idOf(ctx))
    return eventTopic
  }
  return { namespaceOf, topicOf, writableTopicOf, publishedTopicOf, mustBeReadable }
}
