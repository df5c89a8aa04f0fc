// Which side of a buffer's memory is newer, and what is copied when; on a device that writes it down.
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/buffer/buffer_layout.h"
#include "runtime/buffer/buffer_storage.h"
#include "tests/support/fake_device.h"

namespace mica {
namespace {

using test::FakeDevice;
using Log = std::vector<std::string>;

class BufferState : public ::testing::Test {
 protected:
  static constexpr std::int64_t kElements = 16;
  static StorageLayout layout() { return layout_of(Int(32), dense_dims({kElements})); }
  static void set_device(std::uint64_t address, int value) {
    std::vector<int> values(kElements, value);
    std::memcpy(FakeDevice::at(address), values.data(), sizeof(int) * kElements);
  }
  static int on_device(std::uint64_t address, std::int64_t i) {
    return static_cast<const int*>(FakeDevice::at(address))[i];
  }
  static int* host(BufferStorage& storage, MemoryUse use) {
    return static_cast<int*>(storage.host(use));
  }

  std::shared_ptr<FakeDevice> device_ = std::make_shared<FakeDevice>();
};

TEST_F(BufferState, NothingIsMadeBeforeItIsAskedFor) {
  const BufferStorage storage(layout());
  EXPECT_EQ(storage.host_address(), nullptr);
  EXPECT_EQ(storage.device_address(), 0U);
  EXPECT_FALSE(storage.host_dirty());
  EXPECT_FALSE(storage.device_dirty());
}

TEST_F(BufferState, HostWritesReachTheDeviceOnce) {
  BufferStorage storage(layout());
  host(storage, MemoryUse::Write)[3] = 5;
  EXPECT_TRUE(storage.host_dirty());
  const std::uint64_t address = storage.device(device_, MemoryUse::Read);
  EXPECT_EQ(on_device(address, 3), 5);
  EXPECT_FALSE(storage.host_dirty());
  EXPECT_EQ(device_->take_log(), (Log{"allocate 64", "upload 64"}));
  EXPECT_EQ(storage.device(device_, MemoryUse::Read), address);
  EXPECT_EQ(device_->take_log(), Log{}) << "both sides are valid now";
}

TEST_F(BufferState, DeviceWritesReachTheHostWhenItReads) {
  BufferStorage storage(layout());
  set_device(storage.device(device_, MemoryUse::Overwrite), 8);
  EXPECT_TRUE(storage.device_dirty());
  EXPECT_EQ(device_->take_log(), Log{"allocate 64"}) << "an overwritten storage is not uploaded";
  EXPECT_EQ(host(storage, MemoryUse::Read)[15], 8);
  EXPECT_EQ(device_->take_log(), (Log{"download 64", "synchronize"}));
  EXPECT_FALSE(storage.device_dirty());
  EXPECT_EQ(host(storage, MemoryUse::Read)[15], 8);
  EXPECT_EQ(device_->take_log(), Log{});
}

TEST_F(BufferState, APartialDeviceWriteBringsTheRestOverFirst) {
  BufferStorage storage(layout());
  for (int i = 0; i < kElements; ++i) host(storage, MemoryUse::Write)[i] = i;
  const std::uint64_t address = storage.device(device_, MemoryUse::Write);
  static_cast<int*>(FakeDevice::at(address))[4] = 100;
  const int* elements = host(storage, MemoryUse::Read);
  EXPECT_EQ(elements[4], 100);
  EXPECT_EQ(elements[5], 5);
}

TEST_F(BufferState, APartialHostWriteBringsTheRestOverFirst) {
  BufferStorage storage(layout());
  set_device(storage.device(device_, MemoryUse::Overwrite), 8);
  int* elements = host(storage, MemoryUse::Write);
  elements[0] = 1;
  EXPECT_FALSE(storage.device_dirty());
  const std::uint64_t address = storage.device(device_, MemoryUse::Read);
  EXPECT_EQ(on_device(address, 0), 1);
  EXPECT_EQ(on_device(address, 1), 8);
}

TEST_F(BufferState, OverwritingTheHostSkipsTheDownload) {
  BufferStorage storage(layout());
  set_device(storage.device(device_, MemoryUse::Overwrite), 8);
  (void)device_->take_log();
  host(storage, MemoryUse::Overwrite)[0] = 1;
  EXPECT_EQ(device_->take_log(), Log{});
  EXPECT_TRUE(storage.host_dirty());
  EXPECT_FALSE(storage.device_dirty());
}

TEST_F(BufferState, FreeingTheDeviceKeepsTheContents) {
  BufferStorage storage(layout());
  set_device(storage.device(device_, MemoryUse::Overwrite), 8);
  storage.device_free();
  EXPECT_EQ(device_->take_log(), (Log{"allocate 64", "download 64", "synchronize", "release 64"}));
  EXPECT_EQ(storage.device_address(), 0U);
  EXPECT_EQ(host(storage, MemoryUse::Read)[2], 8);
  EXPECT_EQ(on_device(storage.device(device_, MemoryUse::Read), 2), 8) << "uploaded again";
}

TEST_F(BufferState, AnotherDeviceGetsTheContentsOverTheHost) {
  const auto second = std::make_shared<FakeDevice>("second");
  BufferStorage storage(layout());
  set_device(storage.device(device_, MemoryUse::Overwrite), 8);
  const std::uint64_t address = storage.device(second, MemoryUse::Read);
  EXPECT_EQ(on_device(address, 7), 8);
  EXPECT_EQ(device_->take_log().back(), "release 64");
}

TEST_F(BufferState, TheStorageGivesItsDeviceMemoryBack) {
  {
    BufferStorage storage(layout());
    (void)storage.device(device_, MemoryUse::Read);
  }
  EXPECT_EQ(device_->take_log(), (Log{"allocate 64", "release 64"}));
}

TEST_F(BufferState, WrappedHostMemoryIsTheNewerSideAtFirst) {
  std::vector<int> mine(kElements, 4);
  BufferStorage storage(layout(), mine.data());
  const std::uint64_t address = storage.device(device_, MemoryUse::Write);
  EXPECT_EQ(on_device(address, 0), 4);
  set_device(address, 6);
  (void)storage.host(MemoryUse::Read);
  EXPECT_EQ(mine[9], 6);
}

TEST_F(BufferState, BytesBetweenTheRowsOfWrappedHostMemoryStayTheUsers) {
  std::vector<int> mine(30, 4);
  const std::vector<BufferDim> rows = {{0, 2, 1}, {0, 3, 10}};
  BufferStorage storage(layout_of(Int(32), rows), mine.data());
  const std::uint64_t address = storage.device(device_, MemoryUse::Overwrite);
  for (int i = 0; i < 22; ++i) static_cast<int*>(FakeDevice::at(address))[i] = 9;
  mine[5] = 77;  // the user's, while the device holds the newer elements
  (void)storage.host(MemoryUse::Read);
  EXPECT_EQ(mine[5], 77);
  EXPECT_EQ(mine[2], 4);
  for (const std::size_t i : {0U, 1U, 10U, 11U, 20U, 21U}) EXPECT_EQ(mine[i], 9) << i;
}

TEST_F(BufferState, WrappedDeviceMemoryIsCopiedToHostMemoryOfMicas) {
  std::vector<int> mine(30, 4);
  const std::vector<BufferDim> rows = {{0, 2, 1}, {0, 3, 10}};
  const auto start = reinterpret_cast<std::uintptr_t>(mine.data());
  {
    BufferStorage storage(layout_of(Int(32), rows), device_, start);
    int* elements = host(storage, MemoryUse::Write);
    EXPECT_EQ(elements[10], 4);
    elements[10] = 5;
    mine[5] = 77;  // between the rows: not Mica's to write
    EXPECT_EQ(storage.device(device_, MemoryUse::Read), start);
    EXPECT_EQ(mine[10], 5);
    EXPECT_EQ(mine[5], 77);
    storage.device_free();
    EXPECT_EQ(storage.device_address(), start);
  }
  for (const std::string& entry : device_->take_log())
    EXPECT_EQ(entry.find("release"), std::string::npos);
}

TEST_F(BufferState, WrappedDeviceMemoryCannotMoveToAnotherDevice) {
  std::vector<int> mine(kElements, 4);
  const auto second = std::make_shared<FakeDevice>("second");
  BufferStorage storage(layout(), device_, reinterpret_cast<std::uintptr_t>(mine.data()));
  try {
    (void)storage.device(second, MemoryUse::Read);
    FAIL();
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("memory of fake and is used on second"), std::string::npos);
  }
}

TEST_F(BufferState, MemoryThatAStreamMayNotUseYetIsWaitedForUntilTheWaitSucceeds) {
  BufferStorage storage(layout());
  int handle = 0;
  const Stream users{&handle};
  device_->fail_next_wait();
  EXPECT_THROW(storage.device(device_, MemoryUse::Overwrite, users), DeviceError);
  EXPECT_EQ(storage.device_in_use(), nullptr);
  EXPECT_EQ(device_->take_log(), (Log{"allocate 64", "synchronize", "release 64"}));
  EXPECT_NE(storage.device(device_, MemoryUse::Overwrite, users), 0U);
  EXPECT_EQ(device_->take_log(), (Log{"allocate 64", "synchronize"}));
}

TEST_F(BufferState, EmptyStorageAsksNothingOfTheDevice) {
  BufferStorage storage(layout_of(Int(32), dense_dims({0, 4})));
  EXPECT_EQ(storage.host(MemoryUse::Write), nullptr);
  EXPECT_EQ(storage.device(device_, MemoryUse::Write), 0U);
  EXPECT_EQ(device_->take_log(), Log{});
}

TEST_F(BufferState, CropsShareOneState) {
  Buffer<int> whole(4, 4);
  whole.fill(3);
  const Buffer<int> crop = whole.cropped({{1, 2}, {1, 2}});
  const std::uint64_t address = whole.storage()->device(device_, MemoryUse::Write);
  EXPECT_TRUE(crop.device_dirty());
  set_device(address, 9);
  EXPECT_EQ(crop(1, 1), 9);
  EXPECT_FALSE(whole.device_dirty());
}

TEST_F(BufferState, WhatTheUserWroteThroughAnOldPointerWinsOverTheDevice) {
  Buffer<int> b(4, 4);
  b.fill(3);
  int* old = b.data();
  set_device(b.storage()->device(device_, MemoryUse::Write), 9);
  old[0] = 1;
  b.set_host_dirty();
  EXPECT_EQ(b(0, 0), 1);
  EXPECT_EQ(b(1, 0), 3);
}

TEST_F(BufferState, ThreadsThatReadAtOnceCauseOneDownload) {
  BufferStorage storage(layout());
  set_device(storage.device(device_, MemoryUse::Overwrite), 8);
  (void)device_->take_log();
  std::vector<std::thread> threads;
  std::vector<int> seen(8);
  for (std::size_t t = 0; t < seen.size(); ++t) {
    threads.emplace_back([&, t] { seen[t] = host(storage, MemoryUse::Read)[t]; });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(seen, std::vector<int>(8, 8));
  EXPECT_EQ(device_->take_log(), (Log{"download 64", "synchronize"}));
}

}  // namespace
}  // namespace mica
