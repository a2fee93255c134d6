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
  // The steps of a chain receive an exchange, which refers to its chain, route, upstream and trace.
  '^core/exchange[.]ts$',
  // A node refers to its upstream, and the upstream to its nodes.
  '^core/upstream/upstream[.]ts$',
  // A call is sent over a connection, which stores its calls.
  '^core/upstream/http1/connection[.]ts$',
  // A connection stores its exchanges, and an exchange its connection.
  '^core/listener/(node|http2)/exchange[.]ts$',
  // Schemas are recursive.
  '^core/request/coercion/shape[.]ts$',
  // A service is a client of other services, and a client may belong to a service.
  '^sdk/client/client[.]ts$',
]
const GENERATED = '[.]gen[.]ts$'
/** What adapters of several contracts that stand on the same server share: no adapter itself. */
const SHARED_BY_ADAPTERS = 'adapters/(nats|kubernetes)/'

module.exports = {
  forbidden: [
    {
      name: 'no-circular',
      comment: 'Cyclic imports make the load order significant.',
      severity: 'error',
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },
    {
      name: 'no-circular-types',
      comment:
        'Files whose types depend on each other belong together: merge them, or move the shared type to a separate file. Only the files in TYPE_HUBS may be part of such a cycle.',
      severity: 'error',
      from: {},
      to: { circular: true, viaOnly: { pathNot: TYPE_HUBS.join('|') } },
    },
    {
      name: 'not-unresolvable',
      comment: 'The imported module does not exist.',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
    {
      name: 'contracts-are-interfaces',
      comment:
        'Contracts define what adapters must implement; they contain no code and import no implementation.',
      severity: 'error',
      from: { path: '^core/contracts/' },
      to: { pathNot: '^core/contracts/', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'core-imports-nothing-above',
      comment: 'The core is a generic reverse proxy: it receives its dependencies as arguments.',
      severity: 'error',
      from: { path: '^core/' },
      to: { path: `^(${[...PARTS, 'domain', 'services', 'sdk', 'platform', 'cli'].join('|')})/` },
    },
    {
      name: 'lib-imports-only-lib',
      comment: 'lib/ contains domain-independent helpers.',
      severity: 'error',
      from: { path: '^lib/' },
      to: {
        path: `^(${[...PARTS, 'core', 'domain', 'services', 'sdk', 'platform', 'cli'].join('|')})/`,
      },
    },
    {
      name: 'domain-imports-only-core',
      comment:
        'domain/ contains the logic of stores, events, brokers and links that all adapters share.',
      severity: 'error',
      from: { path: '^domain/' },
      to: { path: `^(${[...PARTS, 'services', 'sdk', 'platform', 'cli'].join('|')})/` },
    },
    {
      name: 'parts-import-only-core',
      comment: 'Plugins, resolvers, handlers and adapters import only the core.',
      severity: 'error',
      from: { path: `^(${PARTS.join('|')})/` },
      to: { path: '^(services|sdk|platform|cli)/' },
    },
    ...PARTS.map((folder) => ({
      name: `${folder}-stand-alone`,
      comment: `Code that ${folder} shares with other parts belongs in core/. A part that is too large for one file has a folder of the same name.`,
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
      comment: 'A generated index imports only the parts in its folder; run `npm run gen`.',
      severity: 'error',
      from: { path: '^(.+)/index[.]gen[.]ts$' },
      to: { path: `^(${PARTS.join('|')})/`, pathNot: '^$1/' },
    },
    {
      name: 'sdk-imports-only-core',
      comment: 'Importing the SDK must not load the entire program.',
      severity: 'error',
      from: { path: '^sdk/', pathNot: OPENERS },
      to: { path: `^(${[...PARTS, 'services', 'platform', 'cli'].join('|')})/` },
    },
    {
      name: 'sdk-opens-adapters-in-one-place',
      comment:
        'Services and clients select their registry and broker by URL. The file that parses the URL loads the adapter with import(), so programs do not load adapters that they do not use.',
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
        'See sdk-opens-adapters-in-one-place. An invalid address is reported before any adapter is loaded.',
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
        'Platform services are built like user services; they receive their stores as arguments.',
      severity: 'error',
      from: { path: '^services/' },
      to: { path: `^(${[...PARTS, 'platform', 'cli'].join('|')})/` },
    },
    {
      name: 'services-stand-alone',
      comment: 'Services call one another by name, like any other caller.',
      severity: 'error',
      from: { path: '^services/([^/]+)/' },
      to: { path: '^services/', pathNot: '^services/$1/' },
    },
    {
      name: 'platform-is-not-the-command-line',
      severity: 'error',
      comment:
        'platform/ receives settings as values; flags, colors and exit codes belong in cli/.',
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
        '`mx --help` and client commands must not load the gateway, except for the table of settings, from which flags and help are generated.',
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
        'Pages run in browsers and know the server only through its responses. scripts/build-web.ts rejects modules that require Node.js.',
      severity: 'error',
      from: { path: '^web/' },
      to: {
        path: `^(${[...PARTS, 'services', 'platform', 'cli'].join('|')})/`,
        dependencyTypesNot: ['type-only'],
      },
    },
    {
      name: 'web-is-built-not-imported',
      comment: 'The program serves the built pages and does not import their sources.',
      severity: 'error',
      from: { pathNot: `^(web|${LEAVES.join('|')})/` },
      to: { path: '^web/' },
    },
    {
      name: 'leaves-are-not-imported',
      comment: 'Benchmarks, examples, scripts and tests import the program, never the reverse.',
      severity: 'error',
      from: { pathNot: `^(${LEAVES.join('|')})/` },
      to: { path: `^(${LEAVES.join('|')})/` },
    },
    {
      name: 'only-the-listener-sees-uws',
      comment: 'Only one file imports the native code.',
      severity: 'error',
      from: { pathNot: '^core/listener/uws/listener[.]ts$' },
      to: { path: '(^|/)(@uwsjs/|uWebSockets[.]js)' },
    },
    {
      name: 'only-system-calls-see-koffi',
      comment: 'Each native system function is called from exactly one file.',
      severity: 'error',
      from: { pathNot: '^(core/listener/reuseport-steering|lib/process/protect-memory)[.]ts$' },
      to: { path: '(^|node_modules/)koffi/' },
    },
    {
      name: 'only-the-listener-sees-uws-types',
      comment:
        'Only the listener and the guard in front of it use the declarations of the native code.',
      severity: 'error',
      from: { pathNot: '^core/listener/' },
      to: { path: '^core/listener/uws/uws-types[.]d[.]ts$' },
    },
    {
      name: 'only-the-schema-sees-typebox',
      comment:
        'The build bundles core/schema.ts with TypeBox. Importing TypeBox directly loads hundreds of modules, which costs every gateway memory and startup time.',
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
        'Optional packages are loaded with import() where they are needed, so that other programs do not load them.',
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
      comment: 'Packages that the program uses at run time must be listed in `dependencies`.',
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
