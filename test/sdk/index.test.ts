import { join } from 'node:path'
import { build } from 'esbuild'
import t from 'tap'
import { ROOT } from '../../scripts/root.ts'

/** Source files that are loaded by importing an entry. */
async function listLoaded(entry: string): Promise<string[]> {
  const { metafile } = await build({
    entryPoints: [join(ROOT, entry)],
    absWorkingDir: ROOT,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    packages: 'external',
    metafile: true,
    write: false,
    outdir: 'dist',
    logLevel: 'silent',
  })
  const first = Object.keys(metafile.outputs).find(
    (file) => metafile.outputs[file]!.entryPoint === entry,
  )
  const loaded = new Set<string>()
  const visit = (file: string): void => {
    const { inputs, imports } = metafile.outputs[file]!
    for (const input of Object.keys(inputs)) loaded.add(input)
    for (const { path, kind, external } of imports)
      if (kind === 'import-statement' && external !== true) visit(path)
  }
  visit(first!)
  return [...loaded].sort()
}

t.test('importing `mx` loads no server, gateway, plugin or adapter', async (t) => {
  const loaded = await listLoaded('sdk/index.ts')
  t.ok(loaded.includes('sdk/service/service.ts') && loaded.includes('core/rpc/ws/channel.ts'))
  const parts =
    /^(plugins|resolvers|handlers|adapters|platform|cli)\/|^core\/(listener\/|gateway|router|exchange|rpc\/server)/
  t.strictSame(
    loaded.filter((file) => parts.test(file)),
    // Parsers validate an address early; adapters are loaded when they are opened.
    ['adapters/nats/url.ts', 'adapters/registry/consul/http/url.ts'],
  )
})
