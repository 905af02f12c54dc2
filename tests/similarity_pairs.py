"""Pairs of tool results, each with its kind and whether the second says the same as the first.

Kinds: `words` the same in other words, `near` the same with a word or two changed, `numbers` one
template with other numbers, `names` with other names, `more` with a fact added, `progress` a share
that grows, `opposite` another outcome, `unrelated`.
"""

from __future__ import annotations

from typing import NamedTuple


class Pair(NamedTuple):
    kind: str
    language: str
    a: str
    b: str

    @property
    def same(self) -> bool:
        return self.kind in ("words", "near")


_EN_WORDS = [
    (
        "The job is still being processed, please check back later.",
        "Your task has not finished yet; it is still in the queue being worked on.",
    ),
    ("No such file or directory: config.yaml", "The file config.yaml does not exist."),
    ("Could not connect to the database server.", "Connecting to the database host failed."),
    ("The weather in Berlin is sunny today.", "Today it is clear and bright in Berlin."),
    (
        "You do not have permission to read this folder.",
        "Access to this directory is denied for your user.",
    ),
    (
        "The customer asked for a refund of the order.",
        "A refund for this order was requested by the client.",
    ),
    (
        "The report was saved to the shared drive.",
        "We stored the document on the team's network disk.",
    ),
    ("The server took too long to answer.", "The request timed out waiting for the host."),
    ("The meeting has been moved to Friday.", "They rescheduled the appointment for Friday."),
    ("Our search returned no results for that name.", "Nothing was found under this name."),
    (
        "The build is broken because of a syntax error in main.c.",
        "Compilation failed: main.c has a syntax error.",
    ),
    (
        "The API key is wrong or has expired.",
        "Authentication failed, the key is invalid or out of date.",
    ),
    ("All tests are green.", "Every test has passed."),
    ("The shop is closed on Sundays.", "On Sunday the store does not open."),
    (
        "The package has left the warehouse and is on its way.",
        "Your parcel was shipped and is in transit.",
    ),
    ("The user prefers a window seat.", "A seat at the window is what the passenger would like."),
]
_ZH_WORDS = [
    ("任务仍在处理中，请稍后再查询。", "您的作业还没有跑完，正在排队处理，过会儿再看。"),
    ("找不到文件 config.yaml。", "config.yaml 这个文件不存在。"),
    ("无法连接到数据库服务器。", "连接数据库主机失败。"),
    ("北京今天天气晴朗。", "今天北京是大晴天。"),
    ("您没有权限读取该目录。", "当前用户访问此文件夹被拒绝。"),
    ("客户要求为该订单退款。", "这笔订单的买家申请了退货退款。"),
    ("报告已保存到共享盘。", "文档已经存放到团队的网络硬盘里。"),
    ("服务器响应超时。", "等待主机应答的时间过长，请求超时。"),
    ("会议改到星期五举行。", "会议时间调整为周五。"),
    ("没有查到与该姓名相关的记录。", "这个名字下面没有任何结果。"),
    ("main.c 有语法错误，编译失败。", "由于 main.c 的语法出错，构建没有成功。"),
    ("密钥错误或者已经过期。", "身份验证失败，密钥无效或已失效。"),
    ("全部测试通过。", "所有用例都测试成功。"),
    ("包裹已从仓库发出，正在运输途中。", "您的快递已经发货，现在在路上。"),
    ("乘客希望坐在靠窗的位置。", "旅客想要一个窗边的座位。"),
    ("该商品目前缺货。", "这件货品暂时没有库存。"),
]
_CROSS = [
    ("The file does not exist.", "文件不存在。"),
    ("The task is still being processed.", "任务仍在处理中。"),
    ("Permission denied.", "没有权限。"),
    ("All tests passed.", "全部测试通过。"),
    ("The weather in Beijing is sunny today.", "北京今天天气晴朗。"),
    ("The request timed out.", "请求超时。"),
]
_NEAR = [
    (
        "en",
        "Status: processing. Please wait a moment and try again.",
        "Status: processing. Please wait a moment, then try again.",
    ),
    (
        "en",
        "Error: ENOENT: no such file or directory, open '/app/config.json'",
        "Error: ENOENT: no such file or directory, cannot open '/app/config.json'",
    ),
    (
        "en",
        "The order lookup returned no delivery date for this order.",
        "The order lookup did return no delivery date for that order.",
    ),
    (
        "en",
        'npm ERR! Missing script: "build". To see a list of scripts, run: npm run',
        'npm error Missing script: "build". To see a list of scripts, run: npm run',
    ),
    (
        "en",
        "fatal: not a git repository (or any of the parent directories): .git",
        "fatal: not a git repository (or any parent up to the mount point): .git",
    ),
    (
        "en",
        "Traceback (most recent call last): File \"app.py\", line 3 KeyError: 'date'",
        "Traceback (most recent call last):\n  File \"app.py\", line 3\nKeyError: 'date'",
    ),
    (
        "en",
        "The service is temporarily unavailable, please retry.",
        "Service is temporarily unavailable. Please retry.",
    ),
    (
        "en",
        "Deployment is waiting for a free worker in region eu-west.",
        "The deployment is waiting for a free worker in region eu-west.",
    ),
    ("zh", "状态：处理中，请稍后重试。", "状态：处理中，请您稍后重试。"),
    ("zh", "错误：找不到模块 requests，请先安装。", "错误：找不到模块 requests，请先安装它。"),
    (
        "zh",
        "该订单的查询结果中缺少预计送达日期字段。",
        "该订单查询结果中缺少预计送达日期这一字段。",
    ),
    ("zh", "服务暂时不可用，请稍后再试。", "服务暂时不可用，请您稍后再试！"),
    (
        "zh",
        "部署任务正在等待空闲的执行节点，区域为华东。",
        "部署任务仍在等待空闲的执行节点，区域为华东。",
    ),
    (
        "zh",
        "权限不足：当前账号无法访问财务报表目录。",
        "权限不足，当前账号无法访问财务报表的目录。",
    ),
]
_NUMBERS = [
    ("en", "12 matches found in 3 files.", "87 matches found in 9 files."),
    ("en", "The balance of the account is $1,250.00.", "The balance of the account is $1,305.40."),
    ("en", "3 failed, 14 passed", "2 failed, 15 passed"),
    (
        "en",
        "Temperature in Oslo: 17 degrees, wind 5 m/s.",
        "Temperature in Oslo: 21 degrees, wind 2 m/s.",
    ),
    ("en", "Found 4 errors in src/app.ts", "Found 1 error in src/app.ts"),
    (
        "en",
        "Order 4711: 3 items, total 59.90 EUR, shipped.",
        "Order 4712: 5 items, total 12.40 EUR, shipped.",
    ),
    ("en", "Epoch loss 0.412, accuracy 0.81", "Epoch loss 0.388, accuracy 0.83"),
    (
        "en",
        "Queue length is 128, oldest entry at position 4.",
        "Queue length is 64, oldest entry at position 2.",
    ),
    (
        "zh",
        "共找到 12 条匹配记录，分布在 3 个文件中。",
        "共找到 87 条匹配记录，分布在 9 个文件中。",
    ),
    ("zh", "账户余额为 1,250.00 元。", "账户余额为 1,305.40 元。"),
    ("zh", "失败 3 个，通过 14 个。", "失败 2 个，通过 15 个。"),
    ("zh", "奥斯陆气温 17 度，风速 5 米。", "奥斯陆气温 21 度，风速 2 米。"),
    (
        "zh",
        "订单 4711：3 件商品，合计 59.90 元，已发货。",
        "订单 4712：5 件商品，合计 12.40 元，已发货。",
    ),
    ("zh", "当前排队 128 人，您排在第 40 位。", "当前排队 64 人，您排在第 12 位。"),
    ("zh", "本轮训练损失 0.412，准确率 0.81", "本轮训练损失 0.388，准确率 0.83"),
    ("zh", "src/app.ts 中发现 4 处错误", "src/app.ts 中发现 1 处错误"),
]
_PROGRESS = [
    ("en", "Download progress: 10 %", "Download progress: 20 %"),
    ("en", "Build is running, 31% done.", "Build is running, 58% done."),
    ("en", "Indexed 1,000 of 8,000 documents.", "Indexed 2,000 of 8,000 documents."),
    ("en", "[####      ] 40% uploading backup.tar", "[######    ] 60% uploading backup.tar"),
    ("en", "Step 3/10: pulling layers", "Step 4/10: pulling layers"),
    ("en", "Migration running: batch 17 of 40", "Migration running: batch 18 of 40"),
    ("zh", "下载进度：10%", "下载进度：20%"),
    ("zh", "构建进行中，已完成 31%。", "构建进行中，已完成 58%。"),
    ("zh", "已索引 1,000 / 8,000 篇文档。", "已索引 2,000 / 8,000 篇文档。"),
    ("zh", "正在上传备份，当前 40%", "正在上传备份，当前 60%"),
    ("zh", "数据迁移中：第 17 批，共 40 批", "数据迁移中：第 18 批，共 40 批"),
    ("zh", "模型训练到第 3 轮，共 10 轮。", "模型训练到第 4 轮，共 10 轮。"),
]
_OPPOSITE = [
    (
        "en",
        "All integration tests passed on the main branch.",
        "All integration tests failed on the main branch.",
    ),
    ("en", "The service is running.", "The service is not running."),
    ("en", "Payment was approved by the bank.", "Payment was declined by the bank."),
    ("en", "The file was found in the archive.", "The file was not found in the archive."),
    (
        "en",
        "Deployment finished successfully in region eu-west.",
        "Deployment did not finish successfully in region eu-west.",
    ),
    ("en", "The user has access to the repository.", "The user has no access to the repository."),
    ("en", "Feature flag new_checkout is enabled.", "Feature flag new_checkout is disabled."),
    ("en", '{"ok": true, "state": "open"}', '{"ok": false, "state": "open"}'),
    ("en", "The door sensor reports: closed", "The door sensor reports: open"),
    ("en", "The stock price of ACME rose today.", "The stock price of ACME fell today."),
    ("zh", "主分支的集成测试全部通过。", "主分支的集成测试全部失败。"),
    ("zh", "服务正在运行。", "服务没有在运行。"),
    ("zh", "订单取消成功。", "订单取消失败。"),
    ("zh", "银行已批准该笔付款。", "银行已拒绝该笔付款。"),
    ("zh", "在归档中找到了该文件。", "在归档中没有找到该文件。"),
    ("zh", "部署已经完成。", "部署尚未完成。"),
    ("zh", "该用户可以访问此仓库。", "该用户不可以访问此仓库。"),
    ("zh", "功能开关已启用。", "功能开关已停用。"),
    ("zh", "设备目前在线。", "设备目前离线。"),
    ("zh", "今日股价上涨。", "今日股价下跌。"),
]
_UNRELATED = [
    ("en", "The weather in Berlin is sunny today.", "Could not connect to the database server."),
    (
        "en",
        "def parse(line): return line.split(',')",
        "The customer asked for a refund of the order.",
    ),
    (
        "en",
        "On branch main. Your branch is up to date with origin/main.",
        "The package has left the warehouse and is on its way.",
    ),
    ("en", "README.md src tests pyproject.toml", "The meeting has been moved to Friday."),
    ("en", "The capital of Norway is Oslo.", "The capital of Chile is Santiago."),
    (
        "en",
        "The flight to Lisbon leaves from gate B.",
        "The train to Lisbon leaves from platform C.",
    ),
    ("en", "class Queue: holds pending jobs", "class Stack: holds parsed tokens"),
    ("en", "Ann works in the sales team.", "Bob works in the legal team."),
    ("zh", "北京今天天气晴朗。", "无法连接到数据库服务器。"),
    ("zh", "会议改到星期五举行。", "包裹已从仓库发出，正在运输途中。"),
    ("zh", "挪威的首都是奥斯陆。", "智利的首都是圣地亚哥。"),
    ("zh", "飞往里斯本的航班从乙号登机口出发。", "开往里斯本的列车从丙号站台出发。"),
    ("zh", "小王在销售部工作。", "小李在法务部工作。"),
    ("zh", "该函数读取一行文本并按逗号分割。", "该函数打开一个套接字并等待连接。"),
    ("zh", "报告已保存到共享盘。", "乘客希望坐在靠窗的位置。"),
    ("zh", "红烧肉需要小火慢炖。", "清蒸鱼需要大火快蒸。"),
]

_NAMES = [
    ("en", '{"city": "Oslo", "sky": "clear"}', '{"city": "Bergen", "sky": "clear"}'),
    ("en", "The stock price of ACME rose today.", "The stock price of APEX rose today."),
    ("en", "Ann works in the sales team in Berlin.", "Ann works in the sales team in Madrid."),
    ("en", "Cannot find module 'lodash'", "Cannot find module 'express'"),
    ("en", "No such file or directory: src/app.py", "No such file or directory: src/cli.py"),
    ("en", "The name user_id is not defined.", "The name order_id is not defined."),
    ("en", "The ticket was assigned to Maria Lopez.", "The ticket was assigned to Peter Novak."),
    ("en", "Test test_login failed with a timeout.", "Test test_logout failed with a timeout."),
    ("en", "The red shirt is in stock in size M.", "The blue shirt is in stock in size M."),
    ("en", "Paris is served by this airline.", "Rome is served by this airline."),
    ("zh", "收件人“王芳”的地址已确认。", "收件人“李强”的地址已确认。"),
    ("zh", "找不到模块 lodash_utils。", "找不到模块 express_utils。"),
    ("zh", "文件 src/app.py 不存在。", "文件 src/cli.py 不存在。"),
    ("zh", "上海今天晴，适合出行。", "广州今天晴，适合出行。"),
    ("zh", "红色衬衫有货，尺码齐全。", "蓝色衬衫有货，尺码齐全。"),
    ("zh", "工单已分配给运维组处理。", "工单已分配给财务组处理。"),
]
_MORE = [
    ("en", "The module utils was found.", "The module utils was found. It is deprecated."),
    ("en", "Ann works in sales.", "Ann works in sales and speaks fluent Italian."),
    ("en", "The cause is the cache.", "The cause is the cache, which keeps stale sessions."),
    ("en", "Container web is running.", "Container web is running. Its disk is nearly full."),
    ("zh", "模块已找到。", "模块已找到，但已标记为弃用。"),
    ("zh", "原因在于缓存。", "原因在于缓存，它保留了旧的会话。"),
    ("zh", "容器正在运行。", "容器正在运行，磁盘空间即将用尽。"),
    ("zh", "王芳在销售部工作。", "王芳在销售部工作，会说流利的意大利语。"),
]

PAIRS = [
    *(Pair("words", "en", a, b) for a, b in _EN_WORDS),
    *(Pair("words", "zh", a, b) for a, b in _ZH_WORDS),
    *(Pair("words", "en-zh", a, b) for a, b in _CROSS),
    *(Pair("near", *pair) for pair in _NEAR),
    *(Pair("numbers", *pair) for pair in _NUMBERS),
    *(Pair("names", *pair) for pair in _NAMES),
    *(Pair("more", *pair) for pair in _MORE),
    *(Pair("progress", *pair) for pair in _PROGRESS),
    *(Pair("opposite", *pair) for pair in _OPPOSITE),
    *(Pair("unrelated", *pair) for pair in _UNRELATED),
]
CHOOSE = PAIRS[::2]  # thresholds are chosen on these
CONFIRM = PAIRS[1::2]  # and confirmed on these
