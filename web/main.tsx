import { render } from 'preact'
import { App } from './layout/app.tsx'
import { preloadPage } from './layout/current-page.tsx'
import { applyTheme } from './layout/theme.ts'
import { stayConnected } from './rpc/caller.ts'
import { followHistory } from './state/router.ts'
import { keepLoggedIn } from './state/session.ts'
import './style/tokens.css'
import './style/base.css'
import './style/parts.css'
import './style/shell.css'

applyTheme()
preloadPage()
followHistory()
stayConnected()
keepLoggedIn()
render(<App />, document.getElementById('app')!)
