import { setTimeout as delay } from 'node:timers/promises'
import type { Broker } from '../../core/contracts/broker.ts'
import type { PluginLog } from '../../core/plugin/define.ts'
import { DEFAULT_DOMAIN } from '../../core/registry/service.ts'
import { toTopicName } from '../../domain/broker/topic-name.ts'
import { ALL_DOMAINS } from './domains.ts'
import type { WatchEvent, Watches } from './watches.ts'

/** Topic suffix that follows the domain. */
const TOPIC = 'registry.events'
/** Delay before a watch that has ended is restarted. */
const PAUSE_MS = 1000

/**
 * Publishes all changes to `<domain>.registry.events` (reference 5.1) as JSON watch messages until
 * the watches are closed. While the broker is unavailable, changes are lost and a warning is
 * logged.
 *
 * @param pauseMs delay before a watch that could not keep up is restarted.
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
      if (!isFailing) log.warn({ err: error, topic }, 'cannot publish registry changes')
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
        log.warn({ err: error }, 'registry changes were missed and not published')
        await delay(pauseMs, undefined, { ref: false })
      }
    }
  }

  void run()
}
