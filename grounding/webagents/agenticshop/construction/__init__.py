"""Construction: users' raw purchase histories in, files of users in the release's layout out (paper, section 3.3).

``subjects`` reads histories and draws the item that a query is made of; ``writers`` writes context, query and
checklist, by a chat model or by the rules of ``template``; ``stages`` keep every answer under a key; ``build`` puts it
all together and checks what came out.
"""
