import { setTimeout as delay } from 'node:timers/promises'
import type { Broker } from '../../core/contracts/broker.ts'
import type { PluginLog } from '../../core/plugin/define.ts'
import { DEFAULT_DOMAIN } from '../../core/registry/service.ts'
import { toTopicName } from '../../domain/broker/topic-name.ts'
import { ALL_DOMAINS } from './domains.ts'
import type { WatchEvent, Watches } from './watches.ts'

/** Behind the domain. */
const TOPIC = 'registry.events'
/** Before it watches again, when that came to an end. */
const PAUSE_MS = 1000

/**
 * Publishes every change to `<domain>.registry.events` (reference 5.1), until the watches are closed: in JSON, what a watcher is told.
 * A broker that takes nothing loses what happens meanwhile, and the log says so.
 *
 * @param pauseMs before it watches again, where it could not keep up.
 */
export function publishChanges(
  watches: Watches,
  broker: Pick<Broker, 'publish'>,
  log: PluginLog,
  pauseMs: number = PAUSE_MS,
): void {
  let isFailing = false

  async function publish(event: WatchEvent): Promise<void> {
    const { domain } = event.service.options
    const topic = toTopicName(domain, TOPIC)
    const headers = {
      'content-type': 'application/json',
      'mx-topic': `${domain}.${TOPIC}`,
      'mx-namespace': domain,
    }
    try {
      await broker.publish(topic, { headers, body: Buffer.from(JSON.stringify(event)) })
      isFailing = false
    } catch (error) {
      if (!isFailing) log.warn({ err: error, topic }, 'changes of the registry are not published')
      isFailing = true
    }
  }

  async function run(): Promise<void> {
    for (;;) {
      try {
        for await (const event of watches.open(ALL_DOMAINS, '', DEFAULT_DOMAIN, 'registry'))
          await publish(event)
        return
      } catch (error) {
        if (watches.closed()) return
        log.warn({ err: error }, 'changes of the registry were missed, and not published')
        await delay(pauseMs, undefined, { ref: false })
      }
    }
  }

  void run()
}
