import type { Broker } from '../../core/contracts/broker.ts'
import type { PluginLog } from '../../core/plugin/define.ts'
import { type CheckedBroker, createBroker } from '../../domain/broker/broker.ts'
import type { Client } from '../client/client.ts'
import type { BrokerAccess } from '../internal/internals.ts'
import type { Schema } from '../schema/schema.ts'
import type { Traces } from '../tracing/traces.ts'
import type { Subscriber } from './message.ts'
import { nameBroker, openBroker, toBrokerSource } from './open-broker.ts'
import { type SubscriberOptions, Subscriptions, toBrokerLog, toReports } from './subscriptions.ts'

export interface ServiceBrokerOptions {
  /** Configured broker: an adapter or an address. */
  readonly configured: Broker | string | undefined
  /** True if there is a platform, whose broker is looked up like any service. */
  readonly hasPlatform: boolean
  readonly client: () => Client
  readonly service: string
  readonly log: PluginLog
  /** Creates message spans. @default none */
  readonly traces?: Traces
}

/** The broker of a service, opened on first use, and its subscriptions. */
export interface ServiceBroker {
  /** Broker name for the registry entry; empty if the service uses none. */
  readonly name: () => string
  /** Adds a subscription. @throws {TypeError} without a broker. */
  readonly subscribe: <S extends Schema>(
    topic: string,
    subscriber: Subscriber<S>,
    options: SubscriberOptions<S>,
  ) => void
  /** Returns the broker, for `createBroker`. */
  readonly access: BrokerAccess
  /** Subscribes. @throws {Error} if the broker rejects the subscription. */
  readonly begin: () => Promise<void>
  /** Stops accepting messages. Resolves when the messages in progress are handled. */
  readonly end: () => Promise<void>
  /** Closes the broker if it was opened for the service. */
  readonly close: () => Promise<void>
}

interface Opened {
  readonly checked: CheckedBroker
  readonly loaded?: Promise<void>
  readonly close?: () => Promise<void>
}

/** Address of the platform's broker. */
const PLATFORM = 'mx'

/** @throws {TypeError} for an invalid broker address. */
export function createServiceBroker(options: ServiceBrokerOptions): ServiceBroker {
  const { configured, hasPlatform, client, service, log, traces } = options
  const configuredSource = toBrokerSource(configured)
  const source = configuredSource ?? (hasPlatform ? PLATFORM : undefined)
  const subscriptions = new Subscriptions(service, log, traces)
  const closing: (() => Promise<void>)[] = []
  let opened: Opened | undefined

  function open(from: Broker | string): Opened {
    if (typeof from !== 'string') return { checked: createBroker(from, toReports(log)) }
    const { broker, loaded } = openBroker(from, { client, ...toBrokerLog(log) })
    return { checked: createBroker(broker, toReports(log)), loaded, close: broker.close }
  }

  return {
    name() {
      const used = subscriptions.size > 0 ? source : configuredSource
      return used === undefined ? '' : nameBroker(used)
    },

    subscribe(topic, subscriber, more) {
      if (source === undefined)
        throw new TypeError(
          `subscribing to ${topic} requires a broker: new Service({ broker }), or a registry with the platform's broker`,
        )
      subscriptions.add(topic, subscriber, more)
    },

    access: {
      find() {
        if (source === undefined || (typeof source === 'string' && source.trim() === PLATFORM))
          return undefined
        opened ??= open(source)
        return opened.checked
      },
      onClose: (close) => void closing.push(close),
    },

    async begin() {
      if (source === undefined || subscriptions.size === 0) return
      opened ??= open(source)
      await opened.loaded
      await subscriptions.begin(opened.checked)
    },

    end: () => subscriptions.end(),

    async close() {
      await subscriptions.leave()
      await opened?.close?.()
      await Promise.all(closing.splice(0).map((close) => close()))
    },
  }
}
