import { caddy } from './caddy.ts'
import { haproxy } from './haproxy.ts'
import { httpProxy3 } from './http-proxy-3.ts'
import { mx } from './mx.ts'
import { nginx } from './nginx.ts'
import type { Rival } from './rival.ts'
import { undici } from './undici.ts'
import { uwsFloor } from './uws-floor.ts'

/** All rivals in table order. Ratios are relative to the first installed rival. */
export const RIVALS: readonly Rival[] = [nginx, mx, haproxy, caddy, httpProxy3, undici, uwsFloor]
