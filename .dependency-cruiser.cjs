/**
 * Which folder may import which, checked by `npm run check`:
 *
 *   lib <- core/contracts <- core <- {plugins, resolvers, handlers}
 *   core <- domain <- {adapters, services} ;  {core, domain} <- sdk <- services
 *   everything above <- platform <- cli
 *   {lib, core, sdk} <- web
 *
 * `cli` may also use `core` helpers; it reads the table of settings in `platform`, and starts
 * the rest of it by a dynamic import, so that `mx --help` loads nothing of the gateway.
 *
 * @type {import('dependency-cruiser').IConfiguration}
 */

/** Folders of parts: each part stands alone, and only the generated index knows them all. */
const PARTS = ['plugins', 'resolvers', 'handlers', 'adapters']
/** Folders of parts that are grouped in folders. */
const GROUPED = ['plugins', 'adapters']
/** Folders nothing else may import. */
const LEAVES = ['bench', 'examples', 'scripts', 'test']
/** Libraries only some installations need: loaded by the adapter that needs them, when it needs them. */
const OPTIONAL_LIBRARIES =
  '^(pg|consul|esbuild|koffi|protobufjs|acme-client|node-forge|@nats-io/|@kubernetes/|@opentelemetry/|prom-client)'
/** The files of the SDK that load adapters, and the adapters. */
const OPENERS = '^sdk/(registry|broker|tracing)/open-(registry|broker|tracer)[.]ts$'
const OPENED = '^adapters/(registry|broker|tracer|nats|kubernetes)/'
/** Files whose types recur by nature. */
const TYPE_HUBS = [
  // The steps of a chain take an exchange, which refers to its chain, route, upstream and trace.
  '^core/exchange[.]ts$',
  // A node knows its upstream, and the upstream its nodes.
  '^core/upstream/upstream[.]ts$',
  // A call is sent on a connection, which holds its calls.
  '^core/upstream/http1/connection[.]ts$',
  // A connection holds its exchanges, and an exchange its connection.
  '^core/listener/(node|http2)/exchange[.]ts$',
  // Schemas nest.
  '^core/request/coercion/shape[.]ts$',
  // A service is a client of others, and a client may belong to a service.
  '^sdk/client/client[.]ts$',
]
const GENERATED = '[.]gen[.]ts$'
/** What adapters of several contracts that stand on the same server share: no adapter itself. */
const SHARED_BY_ADAPTERS = 'adapters/(nats|kubernetes)/'

module.exports = {
  forbidden: [
    {
      name: 'no-circular',
      comment: 'Cycles make the order of loading matter.',
      severity: 'error',
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },
    {
      name: 'no-circular-types',
      comment:
        'Files whose types need each other are one subject: merge them, or move the shared type out. The files of TYPE_HUBS may be part of such a cycle.',
      severity: 'error',
      from: {},
      to: { circular: true, viaOnly: { pathNot: TYPE_HUBS.join('|') } },
    },
    {
      name: 'not-unresolvable',
      comment: 'The import leads nowhere.',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
    {
      name: 'contracts-are-interfaces',
      comment: 'Contracts say what adapters must do; they run nothing and know nobody.',
      severity: 'error',
      from: { path: '^core/contracts/' },
      to: { pathNot: '^core/contracts/', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'core-imports-nothing-above',
      comment: 'The core is a generic reverse proxy: what it needs of a part is handed to it.',
      severity: 'error',
      from: { path: '^core/' },
      to: { path: `^(${[...PARTS, 'domain', 'services', 'sdk', 'platform', 'cli'].join('|')})/` },
    },
    {
      name: 'lib-imports-only-lib',
      comment: 'Helpers without any word of a gateway.',
      severity: 'error',
      from: { path: '^lib/' },
      to: {
        path: `^(${[...PARTS, 'core', 'domain', 'services', 'sdk', 'platform', 'cli'].join('|')})/`,
      },
    },
    {
      name: 'domain-imports-only-core',
      comment: 'The meaning of stores, events, brokers and links, in front of their adapters.',
      severity: 'error',
      from: { path: '^domain/' },
      to: { path: `^(${[...PARTS, 'services', 'sdk', 'platform', 'cli'].join('|')})/` },
    },
    {
      name: 'parts-import-only-core',
      comment: 'Plugins, resolvers, handlers and adapters stand on the core alone.',
      severity: 'error',
      from: { path: `^(${PARTS.join('|')})/` },
      to: { path: '^(services|sdk|platform|cli)/' },
    },
    ...PARTS.map((folder) => ({
      name: `${folder}-stand-alone`,
      comment: `What ${folder} and other parts share belongs in core/. A part too big for one file keeps the rest in a folder of its own name.`,
      severity: 'error',
      // $1: the part's own path without `.ts`, or its folder.
      from: {
        path: `^(${folder}/${GROUPED.includes(folder) ? '[^/]+/' : ''}[^/.]+)`,
        pathNot: GENERATED,
      },
      to: {
        path: `^(${PARTS.join('|')})/`,
        pathNot: folder === 'adapters' ? `^($1([.]ts$|/)|${SHARED_BY_ADAPTERS})` : '^$1([.]ts$|/)',
      },
    })),
    {
      name: 'indexes-list-their-own-folder',
      comment: 'A generated index imports the parts beside it; run `npm run gen`.',
      severity: 'error',
      from: { path: '^(.+)/index[.]gen[.]ts$' },
      to: { path: `^(${PARTS.join('|')})/`, pathNot: '^$1/' },
    },
    {
      name: 'sdk-imports-only-core',
      comment: 'What authors import does not bring the whole program along.',
      severity: 'error',
      from: { path: '^sdk/', pathNot: OPENERS },
      to: { path: `^(${[...PARTS, 'services', 'platform', 'cli'].join('|')})/` },
    },
    {
      name: 'sdk-opens-adapters-in-one-place',
      comment:
        'Services and clients name their registry and broker by a text. The file that reads it loads the adapter with import(): whoever uses another, or none, does not pay for it.',
      severity: 'error',
      from: { path: OPENERS },
      to: {
        path: `^(${[...PARTS, 'services', 'platform', 'cli'].join('|')})/`,
        pathNot: OPENED,
      },
    },
    {
      name: 'sdk-loads-adapters-lazily',
      comment:
        'See sdk-opens-adapters-in-one-place. What is wrong with an address is told before anything is loaded.',
      severity: 'error',
      from: { path: OPENERS },
      to: {
        path: OPENED,
        pathNot: '^adapters/(registry/consul/http|nats)/url[.]ts$',
        dependencyTypesNot: ['dynamic-import', 'type-only'],
      },
    },
    {
      name: 'services-import-only-core-and-sdk',
      comment:
        'The platform services are services like those of users; what they store with is handed to them.',
      severity: 'error',
      from: { path: '^services/' },
      to: { path: `^(${[...PARTS, 'platform', 'cli'].join('|')})/` },
    },
    {
      name: 'services-stand-alone',
      comment: 'Services call one another by name, as everybody does.',
      severity: 'error',
      from: { path: '^services/([^/]+)/' },
      to: { path: '^services/', pathNot: '^services/$1/' },
    },
    {
      name: 'platform-is-not-the-command-line',
      severity: 'error',
      comment: 'Settings come in as values; flags, colours and exit codes stay in cli/.',
      from: { path: '^platform/' },
      to: { path: '^cli/' },
    },
    {
      name: 'cli-knows-no-parts',
      comment: 'Only platform/ assembles parts.',
      severity: 'error',
      from: { path: '^cli/' },
      to: { path: `^(${[...PARTS, 'services'].join('|')})/` },
    },
    {
      name: 'cli-starts-the-platform-lazily',
      comment:
        '`mx --help` and client commands load nothing of the gateway. The table of settings is what flags and help are made of.',
      severity: 'error',
      from: { path: '^cli/' },
      to: {
        path: '^platform/',
        pathNot: '^platform/settings',
        dependencyTypesNot: ['dynamic-import', 'type-only'],
      },
    },
    {
      name: 'web-imports-only-core-and-sdk',
      comment:
        'Pages run in browsers, and know the server by what it answers. What needs Node.js is refused by scripts/build-web.ts.',
      severity: 'error',
      from: { path: '^web/' },
      to: {
        path: `^(${[...PARTS, 'services', 'platform', 'cli'].join('|')})/`,
        dependencyTypesNot: ['type-only'],
      },
    },
    {
      name: 'web-is-built-not-imported',
      comment: 'The program serves the files that the build makes of pages.',
      severity: 'error',
      from: { pathNot: `^(web|${LEAVES.join('|')})/` },
      to: { path: '^web/' },
    },
    {
      name: 'leaves-are-not-imported',
      comment:
        'Benchmarks, examples, scripts and tests use the program, never the other way round.',
      severity: 'error',
      from: { pathNot: `^(${LEAVES.join('|')})/` },
      to: { path: `^(${LEAVES.join('|')})/` },
    },
    {
      name: 'only-the-listener-sees-uws',
      comment: 'Native code has exactly one importer.',
      severity: 'error',
      from: { pathNot: '^core/listener/uws/listener[.]ts$' },
      to: { path: '(^|/)(@uwsjs/|uWebSockets[.]js)' },
    },
    {
      name: 'only-system-calls-see-koffi',
      comment: 'Each function of the system is called from exactly one place.',
      severity: 'error',
      from: { pathNot: '^(core/listener/reuseport-steering|lib/process/protect-memory)[.]ts$' },
      to: { path: '(^|node_modules/)koffi/' },
    },
    {
      name: 'only-the-listener-sees-uws-types',
      comment:
        'The declarations of native code do not leak out of its listener and the guard in front of it.',
      severity: 'error',
      from: { pathNot: '^core/listener/' },
      to: { path: '^core/listener/uws/uws-types[.]d[.]ts$' },
    },
    {
      name: 'only-the-schema-sees-typebox',
      comment:
        'The build bundles core/schema.ts with TypeBox; imported past it, its hundreds of modules cost every gateway memory and time to start.',
      severity: 'error',
      from: {
        path: '^(lib|core|domain|plugins|resolvers|handlers|adapters|services|platform|sdk|cli)/',
        pathNot: '^core/schema[.]ts$',
      },
      to: { path: '(^|node_modules/)typebox/' },
    },
    {
      name: 'optional-libraries-are-lazy',
      comment:
        'Loaded with import() where they are needed: whoever does not use them does not pay for them.',
      severity: 'error',
      from: {
        path: '^(lib|core|domain|plugins|resolvers|handlers|adapters|services|platform|sdk|cli)/',
      },
      to: {
        path: `(^|node_modules/)${OPTIONAL_LIBRARIES.slice(1)}`,
        dependencyTypesNot: ['dynamic-import', 'type-only'],
      },
    },
    {
      name: 'no-development-dependencies-in-the-program',
      comment: 'What users run must be in `dependencies`.',
      severity: 'error',
      from: {
        path: '^(lib|core|domain|plugins|resolvers|handlers|adapters|services|platform|sdk|cli)/',
      },
      to: { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['type-only'] },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '(^|/)(dist|[.]tap)/' },
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'require', 'node', 'default', 'types'],
      mainFields: ['main', 'types'],
    },
  },
}
