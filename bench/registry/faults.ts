// Impact of registry and node failures on requests, in real processes: `npm run bench faults -- [scenarios] [flags]`.

import { readOrigin, writeResult } from '../http/results.ts'
import { isInstalled } from '../http/servers/processes.ts'
import { measureBackwards } from './faults/backwards.ts'
import { measureBurst } from './faults/burst.ts'
import { measureClock } from './faults/clock.ts'
import { measureKill } from './faults/kill.ts'
import { measureOutage } from './faults/outage.ts'
import { measureSlow } from './faults/slow.ts'
import { type Figure, formatFigures, isWithinLimit, type Outcome } from './figures.ts'
import { type FaultOptions, parseFaultOptions } from './options.ts'

interface Fault {
  readonly title: (options: FaultOptions) => string
  readonly measure: (options: FaultOptions) => Promise<readonly Figure[]>
}

const FAULTS: Readonly<Record<string, Fault>> = {
  kill: {
    title: () => 'One of three nodes is killed (SIGKILL)',
    measure: measureKill,
  },
  outage: {
    title: ({ outageSeconds }) => `Consul outage of ${outageSeconds} s, data retained`,
    measure: (options) => measureOutage(false, options),
  },
  'outage-empty': {
    title: ({ outageSeconds }) => `Consul outage of ${outageSeconds} s, data lost`,
    measure: (options) => measureOutage(true, options),
  },
  slow: {
    title: ({ delayMs }) => `Consul responds to the gateway after ${delayMs} ms`,
    measure: measureSlow,
  },
  backwards: {
    title: () => "Consul's index goes backwards",
    measure: measureBackwards,
  },
  'burst-consul': {
    title: ({ burstSeconds }) => `Registrations with Consul at its maximum rate, ${burstSeconds} s`,
    measure: (options) => measureBurst('consul', { ...options, perSecond: 100_000 }),
  },
  'burst-catalog': {
    title: ({ perSecond, burstSeconds }) =>
      `${perSecond} registrations per second in Consul's catalog, without agents, ${burstSeconds} s`,
    measure: (options) => measureBurst('catalog', options),
  },
  'burst-mx': {
    title: ({ perSecond, burstSeconds }) =>
      `${perSecond} registrations per second with the registry service, ${burstSeconds} s`,
    measure: (options) => measureBurst('mx', options),
  },
  'clock-consul': {
    title: () => 'Wall clocks jump by a day, forward and back; Consul',
    measure: (options) => measureClock('consul', options),
  },
  'clock-mx': {
    title: () => 'Wall clocks jump by a day, forward and back; registry service',
    measure: (options) => measureClock('mx', options),
  },
}

/** @returns true if all figures meet their goals. */
async function main(): Promise<boolean> {
  const { names, options } = parseFaultOptions(process.argv.slice(2), Object.keys(FAULTS))
  if (!isInstalled('consul'))
    throw new Error('consul is not installed: scripts/test-servers.sh installs it')
  const outcomes: Outcome[] = []
  for (const name of names) {
    const { title, measure } = FAULTS[name]!
    process.stderr.write(`${name}: ${title(options)}\n`)
    const outcome = { name, title: title(options), figures: await measure(options) }
    outcomes.push(outcome)
    process.stdout.write(`\n## ${outcome.title}\n\n${formatFigures(outcome.figures)}\n`)
  }
  const text = outcomes.map(({ title, figures }) => `## ${title}\n\n${formatFigures(figures)}`)
  const note = `\n${options.rate} requests/s, open loop, over 32 connections; latency is measured from the scheduled time of a request. The service takes 5 ms per call.\n`
  const passed = outcomes.every(({ figures }) => figures.every(isWithinLimit))
  const path = writeResult(
    'registry-faults',
    'Failures of registries and nodes',
    readOrigin('npm run bench faults --', 'services of the SDK, Consul or the registry service'),
    { options, outcomes, passed },
    text.join('\n') + note,
  )
  process.stdout.write(`Written to ${path}.md and .json\n`)
  return passed
}

main().then(
  (passed) => process.exit(passed ? 0 : 1),
  (error) => {
    process.stderr.write(`bench faults: ${error instanceof Error ? error.message : error}\n`)
    process.exit(error instanceof RangeError ? 2 : 1)
  },
)
