// Runs one benchmark: `npm run bench [name] [-- options]`. @default http

const BENCHMARKS: Readonly<Record<string, string>> = {
  http: 'http/main',
  guard: 'guard',
  micro: 'micro/main',
  broker: 'broker',
  'cache-tests': 'cache-tests',
  cli: 'cli',
  config: 'config',
  consul: 'registry/consul',
  dashboard: 'dashboard',
  events: 'events',
  faults: 'registry/faults',
  registry: 'registry/scale',
  restart: 'restart',
  'node-faults': 'node-faults',
  overload: 'overload',
  'rpc-proxy': 'rpc-proxy',
  runtime: 'runtime',
  server: 'server',
  'slow-backends': 'slow-backends',
  store: 'store',
}

const [first = '-'] = process.argv.slice(2)
const name = first.startsWith('-') ? 'http' : first
const module = BENCHMARKS[name]
if (module === undefined) {
  console.error(`unknown benchmark ${name}, must be one of ${Object.keys(BENCHMARKS).join(', ')}`)
  process.exitCode = 1
} else {
  if (name === first) process.argv.splice(2, 1)
  const ending = import.meta.filename.endsWith('.ts') ? 'ts' : 'js'
  await import(`./${module}.${ending}`)
}
