import fc from 'fast-check'
import t from 'tap'
import {
  type ScannedService,
  scanCatalog,
} from '../../../../adapters/registry/consul/scan-catalog.ts'
import { scaleRuns } from '../../../fixtures/property-runs.ts'

/** Reads the tags of each service immediately, because its memory is reused afterwards. */
async function scan(
  text: string,
  chunkBytes = 1000,
): Promise<(Omit<ScannedService, 'readTags'> & { readonly tags: unknown })[]> {
  const result: Awaited<ReturnType<typeof scan>> = []
  await scanCatalog(toChunks(Buffer.from(text), chunkBytes), ({ readTags, ...service }) =>
    result.push({ ...service, tags: readTags() }),
  )
  return result
}

function toChunks(bytes: Buffer, chunkBytes: number): Buffer[] {
  const count = Math.ceil(bytes.length / chunkBytes)
  return Array.from({ length: count }, (_, i) =>
    bytes.subarray(i * chunkBytes, (i + 1) * chunkBytes),
  )
}

t.test('scans any JSON object with any formatting and any chunk boundaries', async (t) => {
  const tags = fc.oneof(fc.array(fc.string({ unit: 'binary' })), fc.jsonValue())
  await fc.assert(
    fc.asyncProperty(
      fc.dictionary(fc.string({ unit: 'binary' }), tags, { noNullPrototype: true }),
      fc.nat(3),
      fc.integer({ min: 1, max: 60 }),
      async (catalog, indent, chunkBytes) => {
        const result = await scan(JSON.stringify(catalog, null, indent), chunkBytes)
        const read = result.map(({ name, tags }) => [name, tags])
        t.strictSame(read, Object.entries(JSON.parse(JSON.stringify(catalog))))
      },
    ),
    { numRuns: scaleRuns(200) },
  )
})

t.test('hashes tags independently of their order', async (t) => {
  const toHash = async (tags: readonly string[]): Promise<string | undefined> =>
    (await scan(JSON.stringify({ a: tags })))[0]?.hash
  t.equal(await toHash(['a', 'b\\"],"c', 'd']), await toHash(['d', 'a', 'b\\"],"c']))
  const lists = [[], [''], ['a'], ['b'], ['a', 'a'], ['ab'], ['ba'], ['a', 'b'], ['a', 'c'], ['"']]
  t.equal(new Set(await Promise.all(lists.map(toHash))).size, lists.length)
})

t.test('hashes revisions separately from descriptive tags', async (t) => {
  const scanOne = async (...tags: string[]) => {
    const [result] = await scan(JSON.stringify({ a: tags }))
    return { hash: result!.hash, revision: result!.revision }
  }
  const some = await scanOne('mx', 'mx.revision=a', 'mx.revision=b')
  t.strictSame(await scanOne('mx.revision=b', 'mx', 'mx.revision=a'), some, 'in any order')
  const other = await scanOne('mx', 'mx.revision=a', 'mx.revision@shop=c')
  t.equal(other.hash, some.hash)
  t.not(other.revision, some.revision)
  const changed = await scanOne('mx', 'mx.rev', 'mx.revision=a', 'mx.revision=b')
  t.not(changed.hash, some.hash)
  t.equal(changed.revision, some.revision)
  t.strictSame(await scanOne('mx'), { hash: some.hash, revision: 0 })
  const { hash } = await scanOne('mx.r')
  t.not(hash, some.hash, 'a truncated last tag')
})

t.test('rejects truncated text and other values', async (t) => {
  for (const text of [
    '',
    '[]',
    'null',
    '{',
    '{"a"',
    '{"a":',
    '{"a":["x"',
    '{"a":[] "b"',
    '{"a":[]',
  ])
    await t.rejects(scan(text), { name: 'SyntaxError' }, text)
})

t.test('yields to the event loop during a long catalog', async (t) => {
  const tags = Array.from({ length: 8 }, (_, i) => `mx.endpoint={"name":"A.B${i}"}`.repeat(3))
  const catalog = Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`s${i}`, tags]))
  const body = Buffer.from(JSON.stringify(catalog))
  let ticks = 0
  let done = false
  const count = (): void => {
    ticks++
    if (!done) setImmediate(count)
  }
  setImmediate(count)
  let services = 0
  await scanCatalog(toChunks(body, 65_536), () => services++)
  done = true
  t.equal(services, 20_000)
  t.ok(ticks > 3, `${ticks} ticks`)
})
