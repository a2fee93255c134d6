import fc from 'fast-check'
import t from 'tap'
import type { ServiceEntry } from '../../../services/registry/entry.ts'
import type { WatchEvent } from '../../../services/registry/watches.ts'
import {
  openPlatformRegistry,
  type PlatformRegistry,
  type Services,
  toRegistration,
} from '../../fixtures/platform-registry.ts'
import { scaleRuns } from '../../fixtures/property-runs.ts'

type Command =
  | { readonly do: 'Register'; readonly request: Record<string, unknown> }
  | { readonly do: 'Deregister'; readonly request: Record<string, unknown> }
  | { readonly do: 'wait'; readonly seconds: number }
  | { readonly do: 'watch' }

const entry = fc
  .record({
    name: fc.constantFrom('a', 'a.b', 'b'),
    version: fc.constantFrom('latest', 'v2'),
    port: fc.integer({ min: 1, max: 3 }),
    ttl: fc.constantFrom(0, 30, 60),
    weight: fc.constantFrom('1', '2'),
    owner: fc.constantFrom('ann', 'john'),
  })
  .map(({ name, version, port, ttl, weight, owner }) => ({
    name,
    version,
    metadata: { owner },
    nodes: [{ id: `n${port}`, address: `127.0.0.1:${port}`, metadata: { weight } }],
    options: { ttl },
  }))

const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 4, arbitrary: entry.map((request) => ({ do: 'Register' as const, request })) },
  { weight: 2, arbitrary: entry.map((request) => ({ do: 'Deregister' as const, request })) },
  {
    weight: 1,
    arbitrary: fc.integer({ min: 1, max: 60 }).map((seconds) => ({ do: 'wait' as const, seconds })),
  },
  { weight: 1, arbitrary: fc.constant({ do: 'watch' as const }) },
)

/** State of a watcher by name and version. */
type State = Map<string, ServiceEntry>

const toKey = ({ name, version }: ServiceEntry): string => `${name} ${version}`

function apply(state: State, { action, service }: WatchEvent): void {
  if (action === 'delete') state.delete(toKey(service))
  else state.set(toKey(service), service)
}

/** The complete list, read in pages of two. */
async function readList({ call }: PlatformRegistry): Promise<ServiceEntry[]> {
  const listed: ServiceEntry[] = []
  for (let after: string | undefined = ''; after !== undefined; ) {
    const page: Services = await call('ListServices', { limit: 2, after })
    listed.push(...page.services)
    after = page.next
  }
  return listed
}

t.test(
  'list, get and watch agree after random registrations, deregistrations and expiries',
  async (t) => {
    const opened = await openPlatformRegistry(t)
    const { call, watch, clock } = opened
    let runs = 0
    await fc.assert(
      fc.asyncProperty(
        fc.array(command, { maxLength: 40 }),
        fc.boolean(),
        async (commands, slow) => {
          const last = `end-${runs++}`
          const watchers: { picture: State; events: AsyncIterableIterator<WatchEvent> }[] = []
          // Clients start to watch before they read.
          const begin = async (): Promise<void> => {
            const events = watch()
            const listed = await readList(opened)
            watchers.push({
              picture: new Map(listed.map((entry) => [toKey(entry), entry])),
              events,
            })
          }
          const follow = async ({
            picture: state,
            events,
          }: (typeof watchers)[number]): Promise<void> => {
            for await (const event of events) {
              apply(state, event)
              if (event.service.name === last && event.action === 'create') return
            }
          }
          const followed: Promise<void>[] = []
          for (const step of [{ do: 'watch' } as const, ...commands]) {
            if (step.do === 'wait') clock.seconds += step.seconds
            else if (step.do === 'watch') {
              await begin()
              if (!slow) followed.push(follow(watchers.at(-1)!))
            } else await call(step.do, step.request)
          }
          await call('ListServices')
          await call('Register', toRegistration(last, ['a:1']))
          if (slow) followed.push(...watchers.map(follow))
          await Promise.all(followed)

          const listed = await readList(opened)
          const expected = new Map(listed.map((entry) => [toKey(entry), entry]))
          t.strictSame(
            listed.map(toKey),
            [...expected.keys()].sort(),
            'the list is sorted and has no duplicates',
          )
          for (const { picture: state } of watchers) {
            t.strictSame(new Map([...state].sort()), new Map([...expected].sort()))
          }
          for (const name of new Set(listed.map((entry) => entry.name))) {
            const { services } = await call<Services>('GetService', { service: name })
            t.strictSame(
              services,
              listed.filter((entry) => entry.name === name),
            )
          }
          // Lets all registrations expire, so that the next run starts empty.
          clock.seconds += 1000
          t.strictSame(await readList(opened), [])
        },
      ),
      { numRuns: scaleRuns(60) },
    )
  },
)
